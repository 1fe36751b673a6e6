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
from klamm.server.controller_context import ControllerContext


async def handle(request: BrokerHeartbeatRequest, call: Call) -> BrokerHeartbeatResponse:
    context: object = call.context
    assert isinstance(context, ControllerContext)
    answer = await context.controller.ask(request)
    context.brokers.heard(request.broker_id, call.connection)
    return answer
