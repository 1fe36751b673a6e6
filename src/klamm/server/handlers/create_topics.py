"""CreateTopics (19), v2-7: make topics, each with its partitions and configs.

The controller decides; the answer waits until its records are committed.
v5  partition count, replication factor and configs of each new topic in the answer; v7: its id
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from klamm.server.call import Call
from klamm.server.heavy.portions import create_topics


async def handle(request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    return await create_topics(request, call.context, call.forward)


def fail(request: CreateTopicsRequest, error: ApiError, version: int) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=t.name, error_code=error.code, error_message=error.message)
            for t in request.topics
        ]
    )
