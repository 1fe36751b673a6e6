"""Where the node listens and what it tells clients: from `PLAINTEXT://host:9092` to a Listener."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from klamm.base.settings.checks import ListOf
from klamm.base.settings.declare import Mode, Setting, accepted, setting
from klamm.base.settings.kinds import BLANKS, Kind

_URI = re.compile(r"([0-9A-Za-z_\-.]+)://(?:\[([0-9A-Fa-f:.%]+)\]|([^\[\]:/]*)):(-?[0-9]+)")
DEFAULT_PROTOCOL_MAP = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"


class SecurityProtocol(Enum):
    """How a listener is secured; the numbers are those of the endpoints in the metadata log."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def has_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)


@dataclass(frozen=True, slots=True)
class Listener:
    name: str
    host: str
    port: int
    protocol: SecurityProtocol

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    listeners: tuple[str, ...] = setting(
        "listeners",
        Kind.LIST,
        ("PLAINTEXT://:9092",),
        check=ListOf(may_be_empty=False),
        mode=Mode.PER_BROKER,
        doc="Addresses the node listens on, as NAME://host:port; no host means every interface.",
    )
    advertised_listeners: tuple[str, ...] | None = setting(
        "advertised.listeners",
        Kind.LIST,
        None,
        check=ListOf(may_be_empty=False),
        doc="Addresses that clients are told to use. Where none is set, a client is told the one it came by.",
    )
    protocol_map: str = setting(
        "listener.security.protocol.map",
        Kind.STRING,
        DEFAULT_PROTOCOL_MAP,
        mode=Mode.PER_BROKER,
        doc="Security protocol of each listener name, as NAME:PROTOCOL pairs.",
    )
    controller_listener_names: tuple[str, ...] | None = setting(
        "controller.listener.names",
        Kind.LIST,
        None,
        check=ListOf(may_be_empty=False),
        doc="Listeners that serve controllers only; they are never told to clients.",
    )
    inter_broker_listener_name: str | None = setting(
        "inter.broker.listener.name",
        Kind.STRING,
        None,
        doc="Listener that brokers use among themselves.",
    )
    security_inter_broker_protocol: str = setting(
        "security.inter.broker.protocol",
        Kind.STRING,
        "PLAINTEXT",
        one_of=tuple(SecurityProtocol.__members__),
        doc="Security protocol between brokers, where no listener is named for it.",
    )

    def protocols(self) -> dict[str, SecurityProtocol]:
        """The security protocol of each listener name.

        Where the map is not written, the controllers' listeners are plain text: nobody would have named them in it.
        """
        protocols = parse_protocol_map(self.protocol_map)
        if self.protocol_map == DEFAULT_PROTOCOL_MAP:
            for name in self.controller_names():
                protocols.setdefault(name, SecurityProtocol.PLAINTEXT)
        return protocols

    def controller_names(self) -> tuple[str, ...]:
        return tuple(name.upper() for name in self.controller_listener_names or ())

    def all(self) -> tuple[Listener, ...]:
        """Every listener of this node, in the order of the config."""
        return parse_listeners(self.listeners, self.protocols())

    def for_clients(self) -> tuple[Listener, ...]:
        return tuple(each for each in self.all() if each.name not in self.controller_names())

    def for_controllers(self) -> tuple[Listener, ...]:
        return tuple(each for each in self.all() if each.name in self.controller_names())

    def advertised(self) -> tuple[Listener, ...]:
        """What clients are told; empty where they are told the address they came by."""
        listeners = parse_listeners(self.advertised_listeners or (), self.protocols())
        return tuple(each for each in listeners if each.name not in self.controller_names())

    def inter_broker(self) -> str:
        return (self.inter_broker_listener_name or self.security_inter_broker_protocol).upper()


# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("early.start.listeners", Kind.LIST, None, doc="Listeners that open before the node has caught up with the metadata."),
)
# fmt: on


def parse_protocol_map(text: str) -> dict[str, SecurityProtocol]:
    """`NAME:PROTOCOL,...`; a ValueError says what is wrong."""
    protocols: dict[str, SecurityProtocol] = {}
    for pair in filter(None, (part.strip(BLANKS) for part in text.split(","))):
        name, colon, protocol = (part.strip(BLANKS) for part in pair.rpartition(":"))
        if not colon or not name:
            raise ValueError(f"{pair} is not of the form NAME:PROTOCOL")
        if protocol.upper() not in SecurityProtocol.__members__:
            raise ValueError(f"{protocol} is not a security protocol")
        protocols[name.upper()] = SecurityProtocol[protocol.upper()]
    return protocols


def parse_listeners(
    addresses: Iterable[str], protocols: Mapping[str, SecurityProtocol]
) -> tuple[Listener, ...]:
    return tuple(parse_listener(address, protocols) for address in addresses)


def parse_listener(address: str, protocols: Mapping[str, SecurityProtocol]) -> Listener:
    """One `NAME://host:port`; a ValueError says what is wrong. Listener names are upper case, as in Kafka."""
    match = _URI.fullmatch(address)
    if not match:
        raise ValueError(f"{address} is not of the form NAME://host:port")
    name, port = match[1].upper(), int(match[4])
    if name not in protocols:
        raise ValueError(f"listener {name} has no entry in listener.security.protocol.map")
    if not 0 <= port <= 65535:
        raise ValueError(f"{port} is not a port")
    return Listener(name, match[2] or match[3], port, protocols[name])
