"""Envelope (58), v0: a broker passes on a client's request to the controller, in the client's name (KIP-590).

What is in it is answered as if the client itself had asked here, and the answer goes back in another envelope. That this node
is not the active controller is said on the envelope: the broker looks for the one that is.
"""

from __future__ import annotations

from ipaddress import ip_address
from struct import error
from types import CoroutineType
from typing import Any

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.principal import KafkaPrincipal
from klamm.protocol.compile import decode, decoder
from klamm.protocol.messages.control import DefaultPrincipalData
from klamm.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from klamm.protocol.messages.headers import RequestHeader
from klamm.server.api_table import FORWARDED
from klamm.server.call import Call
from klamm.server.network.long_answer import LongAnswer

_PRINCIPAL_VERSION = 0
_SIZE = 4


async def handle(request: EnvelopeRequest, call: Call) -> EnvelopeResponse:
    principal, host = _client(request)
    try:
        inner, message = _open(bytes(request.request_data), call)
    except (CorruptFrame, error, IndexError):
        raise ApiError(ErrorCode.INVALID_REQUEST) from None
    inner.principal, inner.peer_host = principal, host
    try:
        answer: Any = inner.route.handle(message, inner)
        if isinstance(answer, CoroutineType):
            answer = await answer
    except ApiError as e:
        if e.code is ErrorCode.NOT_CONTROLLER:
            raise
        answer = inner.api.fail(message, e, inner.version)
    if answer is None:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    frame = inner.encode(answer)
    assert not isinstance(frame, LongAnswer)
    return EnvelopeResponse(response_data=b"".join(frame)[_SIZE:])


def _client(request: EnvelopeRequest) -> tuple[KafkaPrincipal, str]:
    """In whose name the broker asks, and from where that client came."""
    data = bytes(request.request_principal or b"")
    try:
        if int.from_bytes(data[:2], "big") != _PRINCIPAL_VERSION:
            raise CorruptFrame("a principal of another version")
        described = decode(DefaultPrincipalData, _PRINCIPAL_VERSION, data[2:])
    except CorruptFrame:
        raise ApiError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE) from None
    try:
        host = str(ip_address(bytes(request.client_host_address)))
    except ValueError:
        raise ApiError(ErrorCode.INVALID_REQUEST) from None
    return KafkaPrincipal(described.type, described.name, described.token_authenticated), host


def _open(data: bytes, call: Call) -> tuple[Call, object]:
    """The call in the envelope, and what it asks."""
    key, version = int.from_bytes(data[:2], "big"), int.from_bytes(data[2:4], "big")
    api = call.context.apis.get(key)
    if api is None or api.name not in FORWARDED:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"An API of key {key} cannot be forwarded.")
    route = api.routes.get(version) or api.route(version)
    if route is None:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    header, body_at = decoder(RequestHeader, 2 if route.has_flexible_header else 1)(data)
    message, _ = route.decode(data, body_at)
    inner = Call(call.broker, call.connection, api, route, version, header.correlation_id)
    inner.client_id = header.client_id
    return inner, message
