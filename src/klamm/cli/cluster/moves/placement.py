"""Where the replicas of a broker that leaves go. Pure: facts in, a plan out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from klamm.base.ids import TopicPartition


class NoPlace(Exception):
    """Every other broker holds the partition already."""

    def __init__(self, partition: TopicPartition, replicas: int) -> None:
        super().__init__(f"{partition} has {replicas} replicas, and no other broker can take one")
        self.partition = partition


def without(
    leaving: int,
    replicas: Mapping[TopicPartition, Sequence[int]],
    racks: Mapping[int, str | None],
) -> dict[TopicPartition, tuple[int, ...]]:
    """New replicas of every partition that the broker holds.

    `replicas` are those of all partitions, `racks` the brokers that may take some. The one that takes a replica also
    takes its place in the order: who was to lead first is replaced by who is to lead first.
    """
    loads = Counter(each for placed in replicas.values() for each in placed)
    plan: dict[TopicPartition, tuple[int, ...]] = {}
    for partition, placed in sorted(replicas.items()):
        if leaving not in placed:
            continue
        staying = [each for each in placed if each != leaving]
        free = [each for each in racks if each != leaving and each not in staying]
        if not free:
            raise NoPlace(partition, len(placed))
        taken = {racks.get(each) for each in staying} - {None}
        # A rack of its own is worth more than an even load.
        chosen = min((racks[each] in taken, loads[each], each) for each in free)[-1]
        loads[chosen] += 1
        plan[partition] = tuple(chosen if each == leaving else each for each in placed)
    return plan


def spread(brokers: Sequence[int], partition: int) -> tuple[int, ...]:
    """The same brokers for each partition of a topic, and each in turn the first of them."""
    first = partition % len(brokers)
    return (*brokers[first:], *brokers[:first])
