"""CreateTopics (19), v2-7: make topics, each with its partitions and configs.

The controller decides; the answer waits until its records are committed.
v5  partition count, replication factor and configs of each new topic in the answer; v7: its id
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from klamm.base.errors import ApiError
from klamm.base.ids import METADATA_TOPIC
from klamm.protocol.declare import altered
from klamm.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from klamm.server.authorization.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC_CONFIGS
from klamm.server.call import Call
from klamm.server.heavy.portions import create_topics


async def handle(request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    if call.context.authorization is None:
        return await create_topics(request, call.context, call.forward)
    return await _create_allowed(request, call)


async def _create_allowed(request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    names = Counter(topic.name for topic in request.topics)
    # A name that is given twice is refused for that, and the log of the metadata because nobody may create it.
    once = [name for name, count in names.items() if count == 1 and name != METADATA_TOPIC]
    denied: Collection[str] = ()
    if not call.may(CREATE_CLUSTER, quietly=True):
        denied = call.denied(CREATE_TOPIC, once)
    allowed = [topic for topic in request.topics if topic.name not in denied]
    answer = CreateTopicsResponse()
    if allowed:
        answer = await create_topics(altered(request, topics=allowed), call.context, call.forward)
    hidden = call.denied(
        DESCRIBE_TOPIC_CONFIGS, (topic.name for topic in answer.topics), quietly=True
    )
    answer.topics = [
        _without_configs(topic) if topic.name in hidden and not topic.error_code else topic
        for topic in answer.topics
    ]
    error = ApiError(CREATE_TOPIC.error, "Authorization failed.")
    refused = [topic for topic in request.topics if topic.name in denied]
    answer.topics += fail(altered(request, topics=refused), error, call.version).topics
    return answer


def _without_configs(topic: CreatableTopicResult) -> CreatableTopicResult:
    return altered(
        topic,
        topic_config_error_code=DESCRIBE_TOPIC_CONFIGS.error,
        num_partitions=-1,
        replication_factor=-1,
        configs=[],
    )


def fail(request: CreateTopicsRequest, error: ApiError, version: int) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=t.name, error_code=error.code, error_message=error.message)
            for t in request.topics
        ]
    )
