"""What consumers of classic groups tell each other through the broker: a version, then a message of that version.

The broker looks into it only where a group changes its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import Protocol

from klamm.base.errors import CorruptFrame
from klamm.base.ids import Uuid
from klamm.metadata.image import ClusterImage
from klamm.protocol.compile import decode, encode
from klamm.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)

_SHORT = Struct(">h")
_HIGHEST_VERSION = 3


class _Topic(Protocol):
    topic: str
    partitions: list[int]


def version_of(data: bytes) -> int:
    """A newer one than we know begins like the newest that we know."""
    if len(data) < _SHORT.size:
        raise CorruptFrame("a message of the consumer protocol without a version")
    (version,) = _SHORT.unpack_from(data)
    if version < 0:
        raise CorruptFrame(f"the consumer protocol has no version {version}")
    return min(int(version), _HIGHEST_VERSION)


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    body = memoryview(data)[_SHORT.size :]
    return decode(ConsumerProtocolSubscription, version_of(data), body)


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """A member without a part has no bytes at all."""
    if not data:
        return ConsumerProtocolAssignment()
    return decode(ConsumerProtocolAssignment, version_of(data), memoryview(data)[_SHORT.size :])


def write_assignment(
    partitions: Mapping[Uuid, Iterable[int]], image: ClusterImage, version: int
) -> bytes:
    """Topics that are gone have no name to be written by."""
    topics = image.topics_by_id
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(
                topic=topics[topic_id].name, partitions=sorted(numbers)
            )
            for topic_id, numbers in partitions.items()
            if topic_id in topics
        ]
    )
    return _SHORT.pack(version) + encode(message, version)


def places(topics: Iterable[_Topic], image: ClusterImage) -> Iterator[tuple[Uuid, int]]:
    """Names become ids; topics that are gone are left out."""
    for topic in topics:
        found = image.topics_by_name.get(topic.topic)
        if found is not None:
            for partition in topic.partitions:
                yield found.topic_id, partition
