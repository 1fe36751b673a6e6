"""The hash that tells a group whether its topics look as they did when it was last balanced.

It is written to the log (ConsumerGroupMetadataValue), and any broker may read it there, so it must be the number
that Kafka computes: XXH3 of the topics' hashes in the order of their names, each of which covers the topic's id, name,
partitions and the racks of their replicas.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct, pack

from klamm.coordinator.group.consumer.xxh3 import xxh3_64
from klamm.metadata.image import ClusterImage, TopicImage

# Changes if what is hashed changes.
_FORMAT = b"\x00"
_INT = Struct("<i")


class TopicHashes:
    """Hashes of topics, kept for as long as their replicas stay where they are. Leaders and ISRs come and go."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[str, tuple[TopicImage, int]] = {}

    def of_group(self, topics: Iterable[str], image: ClusterImage) -> int:
        """Of the topics that exist; 0 if none does. Signed, as it is written."""
        found = image.topics_by_name
        hashes = [self._of_topic(found[name], image) for name in sorted(topics) if name in found]
        if not hashes:
            return 0
        return _signed(xxh3_64(pack(f"<{len(hashes)}Q", *hashes)))

    def _of_topic(self, topic: TopicImage, image: ClusterImage) -> int:
        kept = self._kept.get(topic.name)
        if kept is not None and kept[0] is topic:
            return kept[1]
        is_same = kept is not None and _are_places_same(kept[0], topic)
        value = kept[1] if kept is not None and is_same else xxh3_64(_describe(topic, image))
        self._kept[topic.name] = (topic, value)
        return value

    def forget_missing(self, image: ClusterImage) -> None:
        """Drop the hashes of topics that are gone."""
        found = image.topics_by_name
        self._kept = {name: kept for name, kept in self._kept.items() if name in found}


def _are_places_same(before: TopicImage, after: TopicImage) -> bool:
    return (
        before.topic_id == after.topic_id
        and len(before.partitions) == len(after.partitions)
        and all(
            old.replicas == new.replicas
            for old, new in zip(before.partitions, after.partitions, strict=True)
        )
    )


def _describe(topic: TopicImage, image: ClusterImage) -> bytes:
    most, least = (topic.topic_id[:8], topic.topic_id[8:])
    # Java's longs are hashed with their lowest byte first.
    parts = [_FORMAT, most[::-1], least[::-1], _text(topic.name), _INT.pack(len(topic.partitions))]
    for index, partition in enumerate(topic.partitions):
        parts.append(_INT.pack(index))
        brokers = (image.brokers.get(replica) for replica in partition.replicas)
        racks = sorted(broker.rack for broker in brokers if broker and broker.rack is not None)
        for rack in racks:
            parts.append(_INT.pack(_length(rack)))
            parts.append(_text(rack))
    return b"".join(parts)


def _text(value: str) -> bytes:
    return value.encode("utf-16-le") + _INT.pack(_length(value))


def _length(value: str) -> int:
    """In UTF-16 units, as Java counts."""
    return len(value.encode("utf-16-le")) // 2


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
