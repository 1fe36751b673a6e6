"""The client's part of a login over SaslHandshake and SaslAuthenticate, whatever carries the requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from klamm.base.clock import Ms
from klamm.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from klamm.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from klamm.security.sasl.exchange import LoginRefused, SaslClient

_HANDSHAKE_VERSION = 1
_AUTHENTICATE_VERSION = 2

# A request in a version; its answer.
Ask = Callable[[Any, int], Awaitable[Any]]


async def log_in(ask: Ask, sasl: SaslClient) -> Ms:
    """How long the session lasts, 0 for ever. LoginRefused: not long at all."""
    shake: SaslHandshakeResponse = await ask(
        SaslHandshakeRequest(mechanism=sasl.mechanism), _HANDSHAKE_VERSION
    )
    if shake.error_code:
        offered = ", ".join(shake.mechanisms) or "no login"
        raise LoginRefused(f"it does not offer {sasl.mechanism}, but {offered}")
    token: bytes | None = sasl.first()
    lifetime: Ms = 0
    while token is not None:
        answer: SaslAuthenticateResponse = await ask(
            SaslAuthenticateRequest(auth_bytes=token), _AUTHENTICATE_VERSION
        )
        if answer.error_code:
            raise LoginRefused(answer.error_message or "it does not say why")
        lifetime = answer.session_lifetime_ms
        token = sasl.step(bytes(answer.auth_bytes))
    return lifetime
