"""uniform for members with different subscriptions: hand out, then level.

What is free goes to the subscriber with the least. Then partitions of a topic move from the subscriber with the most to
the one with the least while that makes the two more equal, topic after topic, until nothing moves any more. What is best
for one topic may undo another's balance, so the rounds are limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush, heapreplace

from klamm.base.ids import Uuid
from klamm.coordinator.group.assignors.spec import GroupSpec, Partitions

_MOST_ROUNDS = 16


def assign_mixed(spec: GroupSpec) -> dict[str, Partitions]:
    return _Levelling(spec).run()


class _Levelling:
    """Members are numbers here, in the order of the spec."""

    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._members = list(spec.members.values())
        self._loads = [0] * len(self._members)
        self._subscribers: dict[Uuid, list[int]] = {}
        for number, member in enumerate(self._members):
            for topic in member.topics:
                self._subscribers.setdefault(topic, []).append(number)
        # For each topic the partitions of each subscriber.
        self._owned: dict[Uuid, dict[int, set[int]]] = {
            topic: {number: set() for number in numbers}
            for topic, numbers in self._subscribers.items()
        }

    def run(self) -> dict[str, Partitions]:
        order = self._most_crowded_first(self._subscribers)
        free = self._keep()
        for topic in order:
            self._hand_out(topic, free[topic])
        self._level([topic for topic in order if len(self._subscribers[topic]) > 1])
        return self._result()

    def _keep(self) -> dict[Uuid, list[int]]:
        """Everyone keeps what they had of the topics they still subscribe to; returns what nobody has."""
        free = {topic: set(range(self._spec.partition_counts[topic])) for topic in self._owned}
        for number, member in enumerate(self._members):
            for topic, partitions in member.assigned.items():
                owned = self._owned.get(topic, {}).get(number)
                if owned is not None:
                    owned |= free[topic] & partitions
                    free[topic] -= owned
                    self._loads[number] += len(owned)
        return {topic: sorted(partitions) for topic, partitions in free.items()}

    def _most_crowded_first(self, topics: Iterable[Uuid]) -> list[Uuid]:
        """Partitions per subscriber, falling; then those with few subscribers, who have less choice."""
        counts, subscribers = self._spec.partition_counts, self._subscribers

        def crowding(topic: Uuid) -> tuple[float, int, Uuid]:
            readers = len(subscribers[topic])
            return (-counts[topic] / readers, readers, topic)

        return sorted(topics, key=crowding)

    def _hand_out(self, topic: Uuid, partitions: Sequence[int]) -> None:
        if not partitions:
            return
        least = [(self._loads[number], number) for number in self._subscribers[topic]]
        heapify(least)
        for partition in partitions:
            load, number = least[0]
            self._owned[topic][number].add(partition)
            self._loads[number] = load + 1
            heapreplace(least, (load + 1, number))

    def _level(self, topics: Sequence[Uuid]) -> None:
        for _ in range(_MOST_ROUNDS):
            if not sum(self._level_topic(topic) for topic in topics):
                return

    def _level_topic(self, topic: Uuid) -> int:
        """Returns how many partitions moved."""
        loads, owned, numbers = self._loads, self._owned[topic], self._subscribers[topic]
        least = [(loads[number], number) for number in numbers]
        most = [(-loads[number], number) for number in numbers if owned[number]]
        heapify(least)
        heapify(most)
        moved = 0
        while most:
            low, poorest = heappop(least)
            if low != loads[poorest]:
                continue
            high, richest = heappop(most)
            if -high != loads[richest] or not owned[richest]:
                heappush(least, (low, poorest))
                continue
            if -high - low <= 1:
                break
            partition = max(owned[richest])
            owned[richest].remove(partition)
            owned[poorest].add(partition)
            moved += 1
            for number, change in ((richest, -1), (poorest, 1)):
                loads[number] += change
                heappush(least, (loads[number], number))
                heappush(most, (-loads[number], number))
        return moved

    def _result(self) -> dict[str, Partitions]:
        target: list[dict[Uuid, frozenset[int]]] = [{} for _ in self._members]
        for topic, owned in self._owned.items():
            for number, partitions in owned.items():
                if partitions:
                    target[number][topic] = frozenset(partitions)
        return dict(zip(self._spec.members, target, strict=True))
