"""Whether a node can start with its settings: identity, quorum and listeners fit together.

The sentences are for whoever wrote the config; no client reads them.
"""

from collections.abc import Iterator, Mapping

from klamm.base.settings.broker import complete, has_number
from klamm.base.settings.declare import read_theme
from klamm.base.settings.listeners import (
    Listener,
    ListenerSettings,
    SecurityProtocol,
    parse_listener,
)
from klamm.base.settings.node import NodeSettings
from klamm.base.settings.quorum import QuorumSettings
from klamm.base.settings.ssl import ssl_problems, ssl_settings
from klamm.base.settings.table import LISTENER_PREFIX

# A name and what is wrong with it.
Finding = tuple[str, str]

_QUORUM_KEYS = (
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
    "controller.listener.names",
)


def findings(texts: Mapping[str, str]) -> list[Finding]:
    """Everything that keeps a node with these settings from starting; each text is valid in itself."""
    if missing := list(_missing(texts)):
        return missing
    whole = complete(texts)
    node = read_theme(NodeSettings, whole)
    listeners = read_theme(ListenerSettings, whole)
    quorum = read_theme(QuorumSettings, whole)
    return [
        *_identity(whole),
        *_quorum(node, quorum, alone="process.roles" not in texts),
        *_listeners(node, listeners, whole),
    ]


def _missing(texts: Mapping[str, str]) -> Iterator[Finding]:
    if "process.roles" not in texts:
        if asked := [name for name in _QUORUM_KEYS if name in texts]:
            yield (
                "process.roles",
                f"is missing, but {asked[0]} is set; say broker, controller or broker,controller",
            )
        return
    if not has_number(texts):
        yield "node.id", "is missing; every node of a cluster needs a number of its own"
    if "controller.listener.names" not in texts:
        yield (
            "controller.listener.names",
            "is missing; name the listener of the controllers, for example CONTROLLER",
        )


def _identity(texts: Mapping[str, str]) -> Iterator[Finding]:
    if texts["node.id"].strip() != texts["broker.id"].strip():
        yield (
            "broker.id",
            f"is not the same as node.id, which is {texts['node.id']}; set node.id only",
        )


def _quorum(node: NodeSettings, quorum: QuorumSettings, *, alone: bool) -> Iterator[Finding]:
    if alone:
        return
    if not quorum.voters and not quorum.bootstrap_servers:
        yield (
            "controller.quorum.voters",
            "is missing, and so is controller.quorum.bootstrap.servers; one of them must name the controllers",
        )
        return
    voters = {int(voter.partition("@")[0]) for voter in quorum.voters}
    for voter in quorum.voters:
        if voter.partition("@")[2].rpartition(":")[0] == "0.0.0.0":
            yield "controller.quorum.voters", f"has {voter}, an address that nobody can connect to"
    if voters and node.is_controller and node.node_id not in voters:
        yield (
            "controller.quorum.voters",
            f"does not name node {node.node_id}, which is a controller",
        )
    if node.node_id in voters and not node.is_controller:
        yield "controller.quorum.voters", f"names node {node.node_id}, which is only a broker"


def _listeners(
    node: NodeSettings, settings: ListenerSettings, texts: Mapping[str, str]
) -> Iterator[Finding]:
    try:
        protocols = settings.protocols()
    except ValueError as error:
        yield "listener.security.protocol.map", str(error)
        return
    bound, problems = _parse("listeners", settings.listeners, protocols)
    told, more = _parse("advertised.listeners", settings.advertised_listeners or (), protocols)
    yield from problems + more
    if problems or more:
        return
    yield from _duplicates("listeners", bound)
    yield from _same_names("advertised.listeners", told)
    # What several listeners share is wrong once.
    yield from dict.fromkeys(_tls(bound, texts))
    yield from _controller_listeners(node, settings, bound)
    yield from _way_to_controllers(settings, protocols)
    if not node.is_broker:
        yield from _only_controllers("advertised.listeners", settings, told)
    else:
        yield from _advertised(settings, bound, told)
        yield from _inter_broker(settings, bound, told, protocols)


def _parse(
    key: str, addresses: tuple[str, ...], protocols: Mapping[str, SecurityProtocol]
) -> tuple[list[Listener], list[Finding]]:
    listeners, problems = [], []
    for address in addresses:
        try:
            listeners.append(parse_listener(address, protocols))
        except ValueError as error:
            problems.append((key, str(error)))
    return listeners, problems


def _same_names(key: str, listeners: list[Listener]) -> Iterator[Finding]:
    names = [each.name for each in listeners]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield key, f"has more than one {name}; each listener needs a name of its own"


def _duplicates(key: str, listeners: list[Listener]) -> Iterator[Finding]:
    yield from _same_names(key, listeners)
    ports = [each.port for each in listeners if each.port]
    for port in sorted({port for port in ports if ports.count(port) > 1}):
        sharing = [each for each in listeners if each.port == port]
        # IPv4 and IPv6 have ports of their own.
        if (
            len(sharing) == 2
            and sum(":" in each.host for each in sharing) == 1
            and all(each.host for each in sharing)
        ):
            continue
        yield key, f"has port {port} more than once ({', '.join(map(str, sharing))})"


def _tls(listeners: list[Listener], texts: Mapping[str, str]) -> Iterator[Finding]:
    """A listener that looks secure and is not would be worse than none."""
    for each in listeners:
        if not each.protocol.has_tls:
            continue
        settings = ssl_settings(texts, each.name, has_sasl=each.protocol.has_sasl)
        for name, wrong in ssl_problems(settings, is_server=True):
            prefixed = f"{LISTENER_PREFIX}{each.name.lower()}.{name}"
            yield (prefixed if prefixed in texts else name), wrong


def _controller_listeners(
    node: NodeSettings, settings: ListenerSettings, bound: list[Listener]
) -> Iterator[Finding]:
    own = set(settings.controller_names())
    names = [each.name for each in bound]
    if node.is_controller and own and not own & set(names):
        yield (
            "controller.listener.names",
            f"names no listener of this controller; listeners has {', '.join(names)}",
        )
    if not node.is_broker:
        yield from _only_controllers("listeners", settings, bound)
    if not node.is_controller and (of_others := [name for name in names if name in own]):
        yield (
            "listeners",
            f"has {', '.join(of_others)} of controller.listener.names, but a node that is only a broker serves "
            "no controllers",
        )


def _only_controllers(
    key: str, settings: ListenerSettings, listeners: list[Listener]
) -> Iterator[Finding]:
    own = settings.controller_names()
    if others := [each.name for each in listeners if each.name not in own]:
        yield (
            key,
            f"has {', '.join(others)}, but a node that is only a controller serves controllers only",
        )


def _way_to_controllers(
    settings: ListenerSettings, protocols: Mapping[str, SecurityProtocol]
) -> Iterator[Finding]:
    """Every node asks the controllers by the first of their listeners, also one that has none itself."""
    for name in settings.controller_names()[:1]:
        if name not in protocols:
            yield (
                "controller.listener.names",
                f"has {name}, which has no entry in listener.security.protocol.map",
            )


def _advertised(
    settings: ListenerSettings, bound: list[Listener], told: list[Listener]
) -> Iterator[Finding]:
    own = set(settings.controller_names())
    known = [each.name for each in bound]
    if not [each for each in bound if each.name not in own]:
        yield "listeners", "has no listener for clients; every one is in controller.listener.names"
    if told and not [each for each in told if each.name not in own]:
        yield (
            "advertised.listeners",
            "has no listener for clients; every one is in controller.listener.names",
        )
    # Deviation: Kafka wants advertised.listeners where a listener binds 0.0.0.0; here a client is then told the
    # address it came by.
    for each in told:
        if each.name not in known:
            yield (
                "advertised.listeners",
                f"has {each.name}, which is not in listeners ({', '.join(known)})",
            )
        if each.host in ("0.0.0.0", "::"):
            yield "advertised.listeners", f"has {each}, an address that nobody can connect to"


def _inter_broker(
    settings: ListenerSettings,
    bound: list[Listener],
    told: list[Listener],
    protocols: Mapping[str, SecurityProtocol],
) -> Iterator[Finding]:
    key, name = "inter.broker.listener.name", settings.inter_broker()
    if (
        settings.inter_broker_listener_name
        and settings.security_inter_broker_protocol != "PLAINTEXT"
    ):
        yield key, "and security.inter.broker.protocol are both set; only one may be"
    elif name not in protocols:
        yield key, f"is {name}, which has no entry in listener.security.protocol.map"
    elif name not in (
        choices := [
            each.name for each in told or bound if each.name not in settings.controller_names()
        ]
    ):
        yield (
            key,
            f"is {name}, but brokers can be reached by {', '.join(choices) or 'no listener'} only",
        )
