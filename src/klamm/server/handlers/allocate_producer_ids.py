"""AllocateProducerIds (67), v0: a block of producer ids that no other broker has (KIP-730)."""

from __future__ import annotations

from klamm.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from klamm.server.call import Call


async def handle(request: AllocateProducerIdsRequest, call: Call) -> AllocateProducerIdsResponse:
    return await call.context.controller.ask(request)
