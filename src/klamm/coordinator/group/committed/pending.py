"""Offsets that wait for the end of the transaction they were committed in.

Several transactions may wait with an offset for the same partition. A producer has one transaction at a time, so its
id names it: the epoch may have risen by the time the marker comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from klamm.base.ids import TopicPartition
from klamm.coordinator.records.group import OffsetCommitValue


class Committed(NamedTuple):
    value: OffsetCommitValue
    # Where the record stands in the log: of two commits the later one counts, whenever their transactions end.
    record_offset: int


class Place(NamedTuple):
    """What an offset is committed for."""

    group_id: str
    topic: str
    partition: int


class PendingOffsets:
    __slots__ = ("_by_producer", "_producers")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[Place, Committed]] = {}
        # By group and partition, the producers whose transactions wait there; no entry is empty.
        self._producers: dict[str, dict[TopicPartition, set[int]]] = {}

    def add(self, producer_id: int, place: Place, committed: Committed) -> None:
        self._by_producer.setdefault(producer_id, {})[place] = committed
        waiting = self._producers.setdefault(place.group_id, {})
        waiting.setdefault(TopicPartition(*place[1:]), set()).add(producer_id)

    def end(self, producer_id: int) -> Mapping[Place, Committed]:
        """The transaction is over: what it had committed."""
        ended = self._by_producer.pop(producer_id, {})
        for place in ended:
            waiting = self._producers[place.group_id]
            partition = TopicPartition(*place[1:])
            waiting[partition].discard(producer_id)
            if not waiting[partition]:
                self._drop(place.group_id, partition)
        return ended

    def forget(self, place: Place) -> None:
        """The offset was deleted, also for those who have not yet decided."""
        partition = TopicPartition(*place[1:])
        producers = self._producers.get(place.group_id, {}).get(partition)
        if producers is None:
            return
        for producer_id in producers:
            left = self._by_producer[producer_id]
            del left[place]
            if not left:
                del self._by_producer[producer_id]
        self._drop(place.group_id, partition)

    def _drop(self, group_id: str, partition: TopicPartition) -> None:
        waiting = self._producers[group_id]
        del waiting[partition]
        if not waiting:
            del self._producers[group_id]

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        waiting = self._producers.get(group_id)
        return waiting is not None and (topic, partition) in waiting

    def has(self, group_id: str) -> bool:
        return group_id in self._producers

    def partitions_of(self, group_id: str) -> list[TopicPartition]:
        return list(self._producers.get(group_id, ()))

    def groups(self) -> Iterator[str]:
        return iter(self._producers)

    def topics(self) -> set[str]:
        return {topic for waiting in self._producers.values() for topic, _ in waiting}

    def of_topic(self, topic: str) -> Iterator[tuple[Place, Committed]]:
        for pending in self._by_producer.values():
            for place, committed in pending.items():
                if place.topic == topic:
                    yield place, committed

    def check_invariants(self) -> None:
        indexed = {
            (producer_id, Place(group_id, *partition))
            for group_id, waiting in self._producers.items()
            for partition, producers in waiting.items()
            for producer_id in producers
        }
        held = {
            (producer_id, place)
            for producer_id, pending in self._by_producer.items()
            for place in pending
        }
        assert indexed == held
        assert all(self._by_producer.values())
        assert all(waiting and all(waiting.values()) for waiting in self._producers.values())
