"""CreatePartitions (37), v0-3: give topics more partitions. There is no way back.

The controller decides; the answer waits until its records are committed.
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(request: CreatePartitionsRequest, call: Call) -> CreatePartitionsResponse:
    refuse_too_many(len(request.topics))
    answer: CreatePartitionsResponse = await call.forward(request)
    return answer


def fail(
    request: CreatePartitionsRequest, error: ApiError, version: int
) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=topic.name, error_code=error.code, error_message=error.message
            )
            for topic in request.topics
        ]
    )
