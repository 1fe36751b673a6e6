"""DescribeTopicPartitions (75), v0: topics page by page, with their eligible leaders (KIP-966)."""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.acl import AclResourceType
from klamm.base.errors import ApiError, ErrorCode
from klamm.controller.names import problem_of_name
from klamm.metadata.image import NO_LEADER, ClusterImage, PartitionImage, TopicImage
from klamm.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from klamm.server.authorization.operations import NOT_ASKED
from klamm.server.authorization.rights import DESCRIBE_TOPIC
from klamm.server.call import Call, Steps
from klamm.server.coordination.internal_topics import INTERNAL_TOPICS
from klamm.server.metadata.metadata_answers import offline_replicas, why_no_leader


def handle(request: DescribeTopicPartitionsRequest, call: Call) -> Steps:
    image = call.broker.image
    listener = call.connection.listener.name
    limit = call.broker.settings.network.max_request_partition_size_limit
    left = max(1, min(request.response_partition_limit, limit))
    response = DescribeTopicPartitionsResponse()
    start = request.cursor.partition_index if request.cursor else 0
    if start < 0 or not _lists_the_cursor(request):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    names = list(_names(request, image))
    hidden = call.denied(DESCRIBE_TOPIC, names, quietly=not request.topics)
    for name in names:
        yield
        if name in hidden:
            continue
        first = start if request.cursor and name == request.cursor.topic_name else 0
        if left == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=first)
            break
        topic = image.topics_by_name.get(name)
        if topic is None:
            response.topics.append(_unknown(name, call))
            continue
        described = _describe(image, topic, listener, first, first + left)
        described.topic_authorized_operations = call.operations(AclResourceType.TOPIC, name)
        response.topics.append(described)
        shown = min(len(topic.partitions), first + left)
        left -= max(0, shown - first)
        if shown < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=shown)
            break
    if request.topics:
        # Whoever names a topic hears that it may not know of it; whoever asks for all does not.
        response.topics += [
            DescribeTopicPartitionsResponseTopic(error_code=DESCRIBE_TOPIC.error, name=name)
            for name in names
            if name in hidden
        ]
    return response


def fail(
    request: DescribeTopicPartitionsRequest, error: ApiError, version: int
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=error.code, name=topic.name)
            for topic in request.topics
        ]
    )


def _lists_the_cursor(request: DescribeTopicPartitionsRequest) -> bool:
    """Who names topics goes on with one of them; who names none may go on behind one that is gone by now."""
    if request.cursor is None or not request.topics:
        return True
    return request.cursor.topic_name in {topic.name for topic in request.topics}


def _names(request: DescribeTopicPartitionsRequest, image: ClusterImage) -> Iterator[str]:
    """In order of names, from the cursor on."""
    names = sorted({topic.name for topic in request.topics} or image.topics_by_name)
    cursor: Cursor | None = request.cursor
    return (name for name in names if cursor is None or name >= cursor.topic_name)


def _unknown(name: str, call: Call) -> DescribeTopicPartitionsResponseTopic:
    bad = problem_of_name(name)
    code = ErrorCode.INVALID_TOPIC_EXCEPTION if bad else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        # Kafka stumbles over the empty name before it comes to these.
        topic_authorized_operations=(
            call.operations(AclResourceType.TOPIC, name) if name else NOT_ASKED
        ),
    )


def _describe(
    image: ClusterImage, topic: TopicImage, listener: str, first: int, end: int
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[
            _describe_partition(image, index, state, listener)
            for index, state in enumerate(topic.partitions[first:end], start=first)
        ],
    )


def _describe_partition(
    image: ClusterImage, index: int, state: PartitionImage, listener: str
) -> DescribeTopicPartitionsResponsePartition:
    error = why_no_leader(image, state, listener)
    return DescribeTopicPartitionsResponsePartition(
        error_code=error,
        partition_index=index,
        leader_id=NO_LEADER if error else state.leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        eligible_leader_replicas=list(state.elr),
        last_known_elr=list(state.last_known_elr),
        offline_replicas=offline_replicas(image, state, listener),
    )
