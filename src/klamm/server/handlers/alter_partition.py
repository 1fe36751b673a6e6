"""AlterPartition (56), v2-3: the leader of partitions changes who is in sync (KIP-497).

v3  the epoch of each broker in the ISR (KIP-903)
"""

from __future__ import annotations

from klamm.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from klamm.server.call import Call


async def handle(request: AlterPartitionRequest, call: Call) -> AlterPartitionResponse:
    return await call.context.controller.ask(request)
