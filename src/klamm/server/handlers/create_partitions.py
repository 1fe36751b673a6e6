"""CreatePartitions (37), v0-3: give topics more partitions. There is no way back.

The controller decides; the answer waits until its records are committed.
"""

from __future__ import annotations

from klamm.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from klamm.server.call import Call


async def handle(request: CreatePartitionsRequest, call: Call) -> CreatePartitionsResponse:
    return await call.broker.quorum.submit(
        lambda controller, now: controller.create_partitions(request, now)
    )
