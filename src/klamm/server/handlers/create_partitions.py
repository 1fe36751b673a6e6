"""CreatePartitions (37), v0-3: give topics more partitions. There is no way back.

The controller decides; the answer waits until its records are committed.
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.declare import altered
from klamm.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from klamm.server.authorization.rights import ALTER_TOPIC
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(request: CreatePartitionsRequest, call: Call) -> CreatePartitionsResponse:
    refuse_too_many(len(request.topics))
    denied = call.denied(ALTER_TOPIC, (topic.name for topic in request.topics))
    if not denied:
        answer: CreatePartitionsResponse = await call.forward(request)
        return answer
    allowed = [topic for topic in request.topics if topic.name not in denied]
    refused = [topic for topic in request.topics if topic.name in denied]
    answer = CreatePartitionsResponse()
    if allowed:
        answer = await call.forward(altered(request, topics=allowed))
    error = ApiError(ALTER_TOPIC.error)
    answer.results += fail(altered(request, topics=refused), error, call.version).results
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
