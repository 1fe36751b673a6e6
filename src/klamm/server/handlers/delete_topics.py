"""DeleteTopics (20), v1-6: remove topics and all their records.

The controller decides; the answer waits until its records are committed.
v6  by name or by id
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.base.ids import ZERO_UUID
from klamm.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(request: DeleteTopicsRequest, call: Call) -> DeleteTopicsResponse:
    refuse_too_many(len(request.topics) + len(request.topic_names))
    answer: DeleteTopicsResponse = await call.forward(request)
    return answer


def fail(request: DeleteTopicsRequest, error: ApiError, version: int) -> DeleteTopicsResponse:
    by_id = [(topic.name, topic.topic_id) for topic in request.topics]
    asked = by_id or [(name, ZERO_UUID) for name in request.topic_names]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
            )
            for name, topic_id in asked
        ]
    )
