"""Encoded answers to Metadata, one per topic and version, kept until the cluster's metadata changes.

Clients ask for the same topics again and again; a topic of ten partitions is encoded once and copied ever after.
"""

from __future__ import annotations

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.metadata.image import ClusterImage, TopicImage
from klamm.protocol.compile import encode
from klamm.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from klamm.protocol.wire import put_uvarint
from klamm.server.authorized import NOT_ASKED, TOPIC_OPERATIONS
from klamm.server.coordination.internal_topics import INTERNAL_TOPICS

_FIRST_FLEXIBLE = 9


class MetadataAnswers:
    def __init__(self) -> None:
        self._topics: dict[tuple[str, int, bool], bytes] = {}

    def forget(self) -> None:
        self._topics.clear()

    def topic(
        self, image: ClusterImage, topic: TopicImage, version: int, with_operations: bool
    ) -> bytes:
        key = (topic.name, version, with_operations)
        found = self._topics.get(key)
        if found is None:
            found = self._topics[key] = encode_topic(
                describe_topic(image, topic, with_operations), version
            )
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
    image: ClusterImage, topic: TopicImage, with_operations: bool
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS if with_operations else NOT_ASKED,
        partitions=[
            MetadataResponsePartition(
                error_code=ErrorCode.NONE if state.leader >= 0 else ErrorCode.LEADER_NOT_AVAILABLE,
                partition_index=index,
                leader_id=state.leader,
                leader_epoch=state.leader_epoch,
                replica_nodes=list(state.replicas),
                isr_nodes=list(state.isr),
                offline_replicas=offline_replicas(image, state.replicas),
            )
            for index, state in enumerate(topic.partitions)
        ],
    )


def offline_replicas(image: ClusterImage, replicas: tuple[int, ...]) -> list[int]:
    brokers = image.brokers
    return [id for id in replicas if id not in brokers or brokers[id].is_fenced]


def unknown_topic(
    name: str | None,
    error: int,
    topic_id: Uuid = ZERO_UUID,
    *,
    with_operations: bool = False,
) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=error,
        name=name,
        topic_id=topic_id,
        topic_authorized_operations=TOPIC_OPERATIONS if with_operations else NOT_ASKED,
    )
