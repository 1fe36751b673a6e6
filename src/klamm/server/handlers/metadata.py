"""Metadata (3), v0-13: brokers, the controller, and the topics a client asks about.

A topic that does not exist is created if both the client and auto.create.topics.enable allow it. The answer does not
wait for that: as from Kafka the client hears UNKNOWN_TOPIC_OR_PARTITION, and asks again.
v0   an empty list means all topics; later null does
v4   the client says whether topics may be created
v10  topic ids in the answer (KIP-516); v12: topics asked for by id
v13  error code for clients that should bootstrap again (KIP-1102): never set
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.controller.names import problem_of_name
from klamm.metadata.image import ClusterImage, TopicImage
from klamm.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
)
from klamm.server.authorized import CLUSTER_OPERATIONS, NOT_ASKED
from klamm.server.call import Call, EncodedBody, Steps
from klamm.server.metadata.addresses import addresses_for, any_broker
from klamm.server.metadata.metadata_answers import encode_topic, splice_topics, unknown_topic

# Before, a request can hold an id but must not.
_FIRST_BY_ID = 12
# Topics between two moments at which others may be served.
_STEP = 32
# Topics that one request creates; of the others the client hears that they do not exist, and asks again.
_MOST_CREATED = 1000


def handle(request: MetadataRequest, call: Call) -> Steps:
    if call.version < _FIRST_BY_ID and not all(map(_is_by_name, request.topics or ())):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    missing = _to_create(request, call)
    if missing:
        call.broker.auto_creation.create(missing)
    return _answer(request, call)


def fail(request: MetadataRequest, error: ApiError, version: int) -> MetadataResponse:
    """Only in the last version there is a place for an error of the whole request; so every topic tells it."""
    return MetadataResponse(
        error_code=error.code,
        topics=[
            unknown_topic(
                topic.name if version >= _FIRST_BY_ID else topic.name or "",
                error.code,
                topic.topic_id,
            )
            for topic in request.topics or ()
        ],
    )


def _is_by_name(topic: MetadataRequestTopic) -> bool:
    return topic.name is not None and topic.topic_id == ZERO_UUID


def _to_create(request: MetadataRequest, call: Call) -> list[str]:
    if not call.broker.settings.topics.auto_create or not (
        call.version < 4 or request.allow_auto_topic_creation
    ):
        return []
    known = call.broker.image.topics_by_name
    asked = (topic.name for topic in request.topics or () if topic.name is not None)
    missing = (
        name for name in dict.fromkeys(asked) if name not in known and not problem_of_name(name)
    )
    return list(islice(missing, _MOST_CREATED))


def _answer(request: MetadataRequest, call: Call) -> Steps:
    image = call.broker.image
    version = call.version
    with_operations = version >= 8 and request.include_topic_authorized_operations
    listener = call.connection.listener.name
    answers = call.broker.metadata_answers
    topics: list[bytes] = []
    if request.topics is None or (version == 0 and not request.topics):
        for number, topic in enumerate(image.topics_by_name.values()):
            topics.append(answers.topic(image, topic, listener, version, with_operations))
            if number % _STEP == 0:
                yield
    else:
        for number, asked in enumerate(_distinct(request.topics)):
            known = _find(image, asked)
            if known is not None:
                topics.append(answers.topic(image, known, listener, version, with_operations))
            else:
                name, error = _why_unknown(asked)
                unknown = unknown_topic(
                    name, error, asked.topic_id, with_operations=with_operations
                )
                topics.append(encode_topic(unknown, version))
            if number % _STEP == 0:
                yield
    with_cluster_operations = 8 <= version <= 10 and request.include_cluster_authorized_operations
    response = _without_topics(call, with_cluster_operations)
    return EncodedBody([splice_topics(response, topics, version)])


def _distinct(topics: Iterable[MetadataRequestTopic]) -> list[MetadataRequestTopic]:
    """Each once. Who asks by id is answered by id: names beside it are passed over, as Kafka does."""
    by_id = {topic.topic_id: topic for topic in topics if topic.topic_id != ZERO_UUID}
    by_name = {topic.name: topic for topic in topics}
    return list(by_id.values() or by_name.values())


def _find(image: ClusterImage, asked: MetadataRequestTopic) -> TopicImage | None:
    if asked.topic_id != ZERO_UUID:
        return image.topics_by_id.get(asked.topic_id)
    return image.topics_by_name.get(asked.name or "")


def _why_unknown(asked: MetadataRequestTopic) -> tuple[str | None, int]:
    if asked.topic_id != ZERO_UUID:
        return None, ErrorCode.UNKNOWN_TOPIC_ID
    name = asked.name or ""
    if problem_of_name(name):
        return name, ErrorCode.INVALID_TOPIC_EXCEPTION
    return name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _without_topics(call: Call, with_operations: bool) -> MetadataResponse:
    broker = call.broker
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=b.node_id, host=b.host, port=b.port, rack=b.rack)
            for b in addresses_for(call.connection, broker.image, node_id=broker.node_id)
        ],
        cluster_id=broker.image.cluster_id,
        controller_id=any_broker(broker.image, broker.world.chance),
        cluster_authorized_operations=CLUSTER_OPERATIONS if with_operations else NOT_ASKED,
    )
