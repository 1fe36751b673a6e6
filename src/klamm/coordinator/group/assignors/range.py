"""range: each topic's partitions in one run per member, in the order of the members' names.

Members that subscribe to the same topics get the same numbers of each, so records of one key in two topics with equally
many partitions meet at one member. Static members come first and in the order of their instance ids, so a restart
moves nothing. As in Kafka 4.3 what members owned before does not count.
"""

from __future__ import annotations

from klamm.base.ids import Uuid
from klamm.coordinator.group.assignors.spec import GroupSpec, MemberSpec, Partitions


def assign_ranges(spec: GroupSpec) -> dict[str, Partitions]:
    ordered = sorted(spec.members.items(), key=_place)
    subscribers: dict[Uuid, int] = dict.fromkeys(spec.partition_counts, 0)
    for _, member in ordered:
        for topic in member.topics:
            subscribers[topic] += 1
    begun: dict[Uuid, int] = dict.fromkeys(spec.partition_counts, 0)
    next_partition = dict(begun)
    target: dict[str, Partitions] = {}
    for member_id, member in ordered:
        mine: dict[Uuid, frozenset[int]] = {}
        for topic in member.topics:
            quota, extra = divmod(spec.partition_counts[topic], subscribers[topic])
            # The first members take one more each until nothing is over.
            start, end = next_partition[topic], next_partition[topic] + quota
            end += begun[topic] < extra
            begun[topic] += 1
            next_partition[topic] = end
            if start < end:
                mine[topic] = frozenset(range(start, end))
        target[member_id] = mine
    return target


def _place(item: tuple[str, MemberSpec]) -> tuple[bool, str]:
    member_id, member = item
    if member.instance_id is None:
        return (True, member_id)
    return (False, member.instance_id)
