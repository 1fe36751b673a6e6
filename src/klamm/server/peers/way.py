"""Way: how a node comes to another's listener, and says who it is when it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from klamm.base.chance import Chance
from klamm.base.clock import Ms
from klamm.base.settings.broker import Settings
from klamm.protocol.apis import APIS
from klamm.protocol.compile import decode, encode
from klamm.protocol.messages.headers import RequestHeader
from klamm.security.jaas import parse_jaas
from klamm.security.sasl.exchange import SaslClient
from klamm.security.sasl.log_in import log_in
from klamm.security.sasl.plain import PlainClient
from klamm.security.sasl.scram import MECHANISMS, ScramClient
from klamm.server.peers.connection import PeerConnection
from klamm.server.storage import is_alone

_JAAS = "sasl.jaas.config"


@dataclass(frozen=True, slots=True)
class Way:
    """`begin_login`: none where nobody is asked for a name. `tls`: see world.ports.Network."""

    begin_login: Callable[[], SaslClient] | None = None
    tls: str | None = None


OPEN = Way()


def way_to_brokers(settings: Settings, chance: Chance) -> Way:
    """ValueError: the settings do not say how; it names the one that is missing."""
    return _way(
        settings,
        chance,
        settings.listeners.inter_broker(),
        "sasl.mechanism.inter.broker.protocol",
    )


def way_to_controllers(settings: Settings, chance: Chance) -> Way:
    names = settings.listeners.controller_names()
    if not names:
        return OPEN
    return _way(settings, chance, names[0], "sasl.mechanism.controller.protocol")


def _way(settings: Settings, chance: Chance, listener: str, mechanism_key: str) -> Way:
    protocol = settings.listeners.protocols().get(listener)
    if protocol is None:
        return OPEN
    tls = listener if protocol.has_tls else None
    if not protocol.has_sasl:
        return Way(tls=tls)
    mechanism = str(settings.value(mechanism_key))
    key = f"listener.name.{listener.lower()}.{mechanism.lower()}.{_JAAS}"
    text = settings.of_mechanism(listener, mechanism, _JAAS)
    try:
        options = parse_jaas(str(text)).options if text is not None else {}
    except ValueError as e:
        raise ValueError(f"{key}: {e}") from None
    user, password = options.get("username"), options.get("password")
    if user is None and is_alone(settings):
        # There is nobody else to speak to yet.
        return Way(tls=tls)
    if mechanism != PlainClient.mechanism and mechanism not in MECHANISMS:
        raise ValueError(
            f"{mechanism_key} is {mechanism}; between nodes klamm knows PLAIN, {', '.join(MECHANISMS)}"
        )
    if user is None or password is None:
        raise ValueError(f"{key} needs username and password: nodes log in there with {mechanism}")
    if mechanism == PlainClient.mechanism:
        return Way(lambda: PlainClient(user, password), tls)
    return Way(lambda: ScramClient(MECHANISMS[mechanism], user, password, chance), tls)


async def log_in_at(connection: PeerConnection, sasl: SaslClient, client_id: str) -> Ms:
    """As `log_in`. ConnectionError: nobody answers."""

    async def ask(request: Any, version: int) -> Any:
        return await _ask(connection, request, version, client_id)

    return await log_in(ask, sasl)


async def _ask(connection: PeerConnection, request: Any, version: int, client_id: str) -> Any:
    api = APIS[type(request).SCHEMA.api_key]
    header = RequestHeader(
        request_api_key=api.key,
        request_api_version=version,
        correlation_id=0,
        client_id=client_id,
    )
    frame = encode(header, api.request_header_version(version)) + encode(request, version)
    answer: asyncio.Future[memoryview | None] = asyncio.get_running_loop().create_future()

    def heard(data: memoryview | None) -> None:
        if not answer.done():
            answer.set_result(data)

    if not connection.is_open:
        raise ConnectionResetError
    connection.send(len(frame).to_bytes(4, "big") + frame, heard)
    data = await answer
    if data is None:
        raise ConnectionResetError
    has_tags = api.response_header_version(version) >= 1
    return decode(api.response, version, data[5 if has_tags else 4 :])
