"""Metadata (3), v0-13: brokers, the controller, and the topics a client asks about.

A topic that does not exist is created if both the client and auto.create.topics.enable allow it. The answer does not
wait for that: as from Kafka the client hears UNKNOWN_TOPIC_OR_PARTITION, and asks again.
v0   an empty list means all topics; later null does
v4   the client says whether topics may be created
v10  topic ids in the answer (KIP-516); v12: topics asked for by id
v13  error code for clients that should bootstrap again (KIP-1102): never set
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice

from klamm.base.acl import AclResourceType
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.controller.names import problem_of_name
from klamm.metadata.image import ClusterImage, TopicImage
from klamm.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from klamm.server.authorization.operations import NOT_ASKED
from klamm.server.authorization.rights import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC
from klamm.server.call import Call, EncodedBody, Steps, cluster_operations
from klamm.server.coordination.internal_topics import INTERNAL_TOPICS
from klamm.server.metadata.addresses import addresses_for, any_broker
from klamm.server.metadata.metadata_answers import (
    describe_topic,
    encode_topic,
    splice_topics,
    unknown_topic,
)

# Before, a request can hold an id but must not.
_FIRST_BY_ID = 12
# Topics between two moments at which others may be served.
_STEP = 32
# Topics that one request creates; of the others the client hears that they do not exist, and asks again.
_MOST_CREATED = 1000


def handle(request: MetadataRequest, call: Call) -> Steps:
    if call.version < _FIRST_BY_ID and not all(map(_is_by_name, request.topics or ())):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    # One image for all: a topic that comes meanwhile has not been asked about.
    image = call.broker.image
    hidden = _hidden(request, call, image)
    missing = [name for name in _to_create(request, call) if name not in hidden]
    uncreatable: Collection[str] = ()
    if missing and not call.may(CREATE_CLUSTER, quietly=True):
        uncreatable = call.denied(CREATE_TOPIC, missing)
        missing = [name for name in missing if name not in uncreatable]
    if missing:
        call.broker.auto_creation.create(missing)
    return _answer(request, call, image, hidden, uncreatable)


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


def _hidden(request: MetadataRequest, call: Call, image: ClusterImage) -> Collection[str]:
    """The topics of which the client may not know whether they exist."""
    if call.broker.authorization is None:
        return ()
    if request.topics is None or (call.version == 0 and not request.topics):
        return call.denied(DESCRIBE_TOPIC, image.topics_by_name, quietly=True)
    found = (_find(image, each) for each in request.topics)
    names = [each.name for each in found if each is not None]
    names += [each.name for each in request.topics if each.name is not None]
    return call.denied(DESCRIBE_TOPIC, names)


def _answer(
    request: MetadataRequest,
    call: Call,
    image: ClusterImage,
    hidden: Collection[str],
    uncreatable: Collection[str],
) -> Steps:
    version = call.version
    with_operations = version >= 8 and request.include_topic_authorized_operations
    topics: list[bytes] = []
    if request.topics is None or (version == 0 and not request.topics):
        for number, topic in enumerate(image.topics_by_name.values()):
            if topic.name not in hidden:
                topics.append(_known(topic, call, image, with_operations))
            if number % _STEP == 0:
                yield
    else:
        for number, asked in enumerate(_distinct(request.topics)):
            known = _find(image, asked)
            name = asked.name if known is None else known.name
            if name in hidden or name in uncreatable:
                topics.append(encode_topic(_denied(asked, name in uncreatable), version))
            elif known is not None:
                topics.append(_known(known, call, image, with_operations))
            else:
                topics.append(encode_topic(_unknown(asked, call, with_operations), version))
            if number % _STEP == 0:
                yield
    with_cluster_operations = 8 <= version <= 10 and request.include_cluster_authorized_operations
    response = _without_topics(call, with_cluster_operations)
    return EncodedBody([splice_topics(response, topics, version)])


def _known(topic: TopicImage, call: Call, image: ClusterImage, with_operations: bool) -> bytes:
    listener = call.connection.listener.name
    if with_operations and call.broker.authorization is not None:
        # What is kept is for all; this is for one.
        described = describe_topic(image, topic, listener, version=call.version)
        described.topic_authorized_operations = call.operations(AclResourceType.TOPIC, topic.name)
        return encode_topic(described, call.version)
    if image is not call.broker.image:
        # Old by now: it must not be kept for those who ask later.
        described = describe_topic(
            image, topic, listener, version=call.version, with_operations=with_operations
        )
        return encode_topic(described, call.version)
    return call.broker.metadata_answers.topic(image, topic, listener, call.version, with_operations)


def _unknown(
    asked: MetadataRequestTopic, call: Call, with_operations: bool
) -> MetadataResponseTopic:
    name, error = _why_unknown(asked)
    topic = unknown_topic(name, error, asked.topic_id)
    if with_operations:
        topic.topic_authorized_operations = call.operations(AclResourceType.TOPIC, name or "")
    return topic


def _denied(asked: MetadataRequestTopic, is_uncreatable: bool) -> MetadataResponseTopic:
    """Whoever asks by id knows that there is one; whoever asks by name is not told."""
    if asked.topic_id != ZERO_UUID:
        return unknown_topic(None, DESCRIBE_TOPIC.error, asked.topic_id)
    topic = unknown_topic(asked.name, DESCRIBE_TOPIC.error)
    topic.is_internal = is_uncreatable and asked.name in INTERNAL_TOPICS
    return topic


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
        cluster_authorized_operations=cluster_operations(call) if with_operations else NOT_ASKED,
    )
