"""BrokerRegistration (62), v0-4: a broker that starts makes itself known; it begins fenced, with an epoch of its own.

v2  its log directories (KIP-858); v3: the epoch in which it last stopped cleanly (KIP-966)
"""

from __future__ import annotations

from klamm.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from klamm.server.call import Call


async def handle(request: BrokerRegistrationRequest, call: Call) -> BrokerRegistrationResponse:
    return await call.context.controller.ask(request)
