"""Encoded answers to Metadata, one per topic, listener and version, kept until the topic or a broker changes.

Clients ask for the same topics again and again; a topic of ten partitions is encoded once and copied ever after.
"""

from __future__ import annotations

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.metadata.delta import MIGRATING_DIRECTORY, Delta
from klamm.metadata.image import NO_LEADER, BrokerImage, ClusterImage, PartitionImage, TopicImage
from klamm.protocol.compile import encode
from klamm.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from klamm.protocol.wire import put_uvarint
from klamm.server.authorization.operations import NOT_ASKED, TOPIC_OPERATIONS
from klamm.server.coordination.internal_topics import INTERNAL_TOPICS

_FIRST_FLEXIBLE = 9
_FIRST_WITH_LISTENER_NOT_FOUND = 6


class MetadataAnswers:
    def __init__(self) -> None:
        self._topics: dict[str, dict[tuple[str, int, bool], bytes]] = {}

    def follow(self, delta: Delta) -> None:
        """The metadata changed. A change of one topic leaves the answers about the others."""
        if delta.changed_brokers:
            self._topics.clear()
            return
        for change in delta.topics.values():
            for topic in (change.before, change.after):
                if topic is not None:
                    self._topics.pop(topic.name, None)

    def topic(
        self,
        image: ClusterImage,
        topic: TopicImage,
        listener: str,
        version: int,
        with_operations: bool,
    ) -> bytes:
        answers = self._topics.setdefault(topic.name, {})
        key = (listener, version, with_operations)
        found = answers.get(key)
        if found is None:
            described = describe_topic(
                image, topic, listener, version=version, with_operations=with_operations
            )
            found = answers[key] = encode_topic(described, version)
        return found


def encode_topic(topic: MetadataResponseTopic, version: int) -> bytes:
    """The bytes of one topic, cut out of a response that has nothing else in it."""
    alone = encode(MetadataResponse(topics=[topic]), version)
    tail = _tail_size(version)
    return alone[len(encode(MetadataResponse(), version)) - tail : len(alone) - tail]


def splice_topics(response: MetadataResponse, topics: list[bytes], version: int) -> bytes:
    """Put encoded topics into a response whose own list is empty: only a few fixed bytes come after the list."""
    body = encode(response, version)
    count = bytearray()
    if version >= _FIRST_FLEXIBLE:
        put_uvarint(count, len(topics) + 1)
        empty = 1
    else:
        count += len(topics).to_bytes(4, "big")
        empty = 4
    split = len(body) - _tail_size(version)
    return b"".join((body[: split - empty], count, *topics, body[split:]))


def _tail_size(version: int) -> int:
    """Bytes after the topics: the cluster's operations (v8-10) or an error code (v13), and the count of tags."""
    operations = 4 if 8 <= version <= 10 else 0
    error_code = 2 if version >= 13 else 0
    return operations + error_code + (1 if version >= _FIRST_FLEXIBLE else 0)


def describe_topic(
    image: ClusterImage,
    topic: TopicImage,
    listener: str,
    *,
    version: int,
    with_operations: bool = False,
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS if with_operations else NOT_ASKED,
        partitions=[
            _describe_partition(image, index, state, listener, version)
            for index, state in enumerate(topic.partitions)
        ],
    )


def _describe_partition(
    image: ClusterImage, index: int, state: PartitionImage, listener: str, version: int
) -> MetadataResponsePartition:
    replicas, isr = list(state.replicas), list(state.isr)
    error = why_no_leader(image, state, listener)
    if error is ErrorCode.LISTENER_NOT_FOUND and version < _FIRST_WITH_LISTENER_NOT_FOUND:
        error = ErrorCode.LEADER_NOT_AVAILABLE
    if version == 0:
        # The oldest clients stumble over replicas that they cannot connect to.
        replicas = [each for each in replicas if _is_reachable(image, each, listener)]
        isr = [each for each in isr if _is_reachable(image, each, listener)]
        is_complete = len(replicas) == len(state.replicas) and len(isr) == len(state.isr)
        if error is ErrorCode.NONE and not is_complete:
            error = ErrorCode.REPLICA_NOT_AVAILABLE
    has_leader = error in (ErrorCode.NONE, ErrorCode.REPLICA_NOT_AVAILABLE)
    return MetadataResponsePartition(
        error_code=error,
        partition_index=index,
        leader_id=state.leader if has_leader else NO_LEADER,
        leader_epoch=state.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=offline_replicas(image, state, listener),
    )


def why_no_leader(image: ClusterImage, state: PartitionImage, listener: str) -> ErrorCode:
    """NONE where there is one that a client of this listener can connect to."""
    leader = image.brokers.get(state.leader)
    if leader is None:
        return ErrorCode.LEADER_NOT_AVAILABLE
    if leader.endpoint(listener) is None:
        return ErrorCode.LISTENER_NOT_FOUND
    return ErrorCode.NONE


def offline_replicas(image: ClusterImage, state: PartitionImage, listener: str) -> list[int]:
    directories = state.directories or (ZERO_UUID,) * len(state.replicas)
    return [
        replica
        for replica, directory in zip(state.replicas, directories, strict=True)
        if not _is_reachable(image, replica, listener)
        or not _is_online(image.brokers[replica], directory)
    ]


def _is_reachable(image: ClusterImage, broker_id: int, listener: str) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is not None and not broker.is_fenced and broker.endpoint(listener) is not None


def _is_online(broker: BrokerImage, directory: Uuid) -> bool:
    """One that nobody has named yet counts; a broker that names no directories has them all."""
    is_unnamed = directory in (ZERO_UUID, MIGRATING_DIRECTORY)
    return is_unnamed or not broker.directories or directory in broker.directories


def unknown_topic(
    name: str | None,
    error: int,
    topic_id: Uuid = ZERO_UUID,
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=error,
        name=name,
        topic_id=topic_id,
        topic_authorized_operations=NOT_ASKED,
    )
