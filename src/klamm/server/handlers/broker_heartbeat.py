"""BrokerHeartbeat (63), v0-2: a broker says that it lives and what it wants; it hears whether it may serve, or go.

v1  directories that have failed (KIP-858)
v2  directories that take no new replicas (KIP-1066)
"""

from __future__ import annotations

from klamm.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from klamm.server.call import Call


async def handle(request: BrokerHeartbeatRequest, call: Call) -> BrokerHeartbeatResponse:
    return await call.context.controller.ask(request)
