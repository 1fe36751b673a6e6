"""DeleteTopics (20), v1-6: remove topics and all their records.

The controller decides; the answer waits until its records are committed.
v6  by name or by id
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from klamm.server.authorization.rights import DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(request: DeleteTopicsRequest, call: Call) -> DeleteTopicsResponse:
    refuse_too_many(len(request.topics) + len(request.topic_names))
    refused = _take_denied(request, call)
    if refused and not (request.topics or request.topic_names):
        return DeleteTopicsResponse(responses=refused)
    answer: DeleteTopicsResponse = await call.forward(request)
    answer.responses += refused
    return answer


def _take_denied(request: DeleteTopicsRequest, call: Call) -> list[DeletableTopicResult]:
    """Takes out of the request what the client may not delete; says what it is told instead.

    Whether a topic that it may not even look at exists is not told.
    """
    if call.context.authorization is None or call.may(DELETE_CLUSTER, quietly=True):
        return []
    by_id = call.context.image.topics_by_id
    names = dict.fromkeys(request.topic_names)
    names.update((topic.name, None) for topic in request.topics if topic.name is not None)
    known = {
        each.topic_id: by_id[each.topic_id].name
        for each in request.topics
        if each.topic_id in by_id
    }
    undeletable = call.denied(DELETE_TOPIC, [*names, *known.values()])
    hidden = call.denied(DESCRIBE_TOPIC, [*names, *known.values()], quietly=True)
    existing = call.context.image.topics_by_name
    denied = {name for name in undeletable if name in hidden or name in existing}
    refused = [_refused(name, ZERO_UUID) for name in names if name in denied]
    refused += [
        _refused(None if name in hidden else name, topic_id)
        for topic_id, name in known.items()
        if name in denied
    ]
    request.topic_names = [name for name in request.topic_names if name not in denied]
    request.topics = [
        topic
        for topic in request.topics
        if topic.name not in denied and known.get(topic.topic_id) not in denied
    ]
    return refused


def _refused(name: str | None, topic_id: Uuid) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=DELETE_TOPIC.error,
        error_message=DELETE_TOPIC.error.text,
    )


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
