"""UnregisterBroker (64), v0: forget a broker that will not come back."""

from __future__ import annotations

from klamm.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.call import Call


async def handle(request: UnregisterBrokerRequest, call: Call) -> UnregisterBrokerResponse:
    call.require(ALTER_CLUSTER)
    answer: UnregisterBrokerResponse = await call.forward(request)
    return answer
