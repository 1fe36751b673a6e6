"""ControllerRegistration (70), v0: a controller that starts makes itself known to the active one (KIP-919)."""

from __future__ import annotations

from klamm.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from klamm.server.call import Call


async def handle(
    request: ControllerRegistrationRequest, call: Call
) -> ControllerRegistrationResponse:
    return await call.context.controller.ask(request)
