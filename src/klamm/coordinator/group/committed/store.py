"""Committed offsets by group, topic and partition, and which topics they speak of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from klamm.coordinator.group.committed.pending import Committed, Place

_NOTHING: Mapping[str, Mapping[int, Committed]] = {}


class OffsetStore:
    __slots__ = ("_by_group", "_groups_of")

    def __init__(self) -> None:
        self._by_group: dict[str, dict[str, dict[int, Committed]]] = {}
        # By topic, the groups with offsets in it: a deleted topic is found without a look at all groups.
        self._groups_of: dict[str, set[str]] = {}

    def of_group(self, group_id: str) -> Mapping[str, Mapping[int, Committed]]:
        """By topic and partition."""
        return self._by_group.get(group_id, _NOTHING)

    def get(self, place: Place) -> Committed | None:
        group_id, topic, partition = place
        return self.of_group(group_id).get(topic, {}).get(partition)

    def put(self, group_id: str, topic: str, partition: int, committed: Committed) -> None:
        topics = self._by_group.get(group_id)
        if topics is None:
            topics = self._by_group[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
            self._groups_of.setdefault(topic, set()).add(group_id)
        partitions[partition] = committed

    def remove(self, place: Place) -> None:
        """Removing what is not there is fine: a tombstone may follow a tombstone."""
        group_id, topic, partition = place
        topics = self._by_group.get(group_id)
        if topics is None or topics.get(topic, {}).pop(partition, None) is None or topics[topic]:
            return
        del topics[topic]
        groups = self._groups_of[topic]
        groups.discard(group_id)
        if not groups:
            del self._groups_of[topic]
        if not topics:
            del self._by_group[group_id]

    def groups(self) -> Iterator[str]:
        return iter(self._by_group)

    def topics(self) -> Iterator[str]:
        return iter(self._groups_of)

    def of_topic(self, topic: str) -> Iterator[tuple[Place, Committed]]:
        for group_id in self._groups_of.get(topic, ()):
            for partition, committed in self._by_group[group_id][topic].items():
                yield Place(group_id, topic, partition), committed

    def check_invariants(self) -> None:
        found: dict[str, set[str]] = {}
        for group_id, topics in self._by_group.items():
            assert topics
            for topic, partitions in topics.items():
                assert partitions
                found.setdefault(topic, set()).add(group_id)
        assert found == self._groups_of
