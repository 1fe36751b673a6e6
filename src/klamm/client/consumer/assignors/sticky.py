"""`cooperative-sticky`: as even as the subscriptions allow, moving no partition without need.

A partition that does move is given to nobody in the round in which its owner learns that it must give it up; the owner
then calls for another round (KIP-429).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from klamm.base.ids import TopicPartition
from klamm.client.consumer.assignors.assignor import Assignments, Member, partitions_of


@dataclass(frozen=True, slots=True)
class CooperativeStickyAssignor:
    name: str = "cooperative-sticky"
    is_cooperative: bool = True

    def assign(self, members: Sequence[Member], counts: Mapping[str, int]) -> Assignments:
        owners = owners_of(members, counts)
        assigned = _balanced(members, counts, owners)
        for member in members:
            kept = assigned[member.member_id]
            kept[:] = [p for p in kept if owners.get(p, member.member_id) == member.member_id]
        return {member_id: sorted(partitions) for member_id, partitions in assigned.items()}


def owners_of(members: Sequence[Member], counts: Mapping[str, int]) -> dict[TopicPartition, str]:
    """Who has what. Of two that claim the same, the one of the later round is right; in one round, nobody is."""
    claims: dict[TopicPartition, tuple[int, str | None]] = {}
    for member in members:
        for partition in member.owned:
            if partition.partition >= counts.get(partition.topic, 0):
                continue
            generation, _ = claims.get(partition, (-2, None))
            if member.generation > generation:
                claims[partition] = (member.generation, member.member_id)
            elif member.generation == generation:
                claims[partition] = (generation, None)
    return {partition: owner for partition, (_, owner) in claims.items() if owner is not None}


def _balanced(
    members: Sequence[Member],
    counts: Mapping[str, int],
    owners: Mapping[TopicPartition, str],
) -> Assignments:
    readers = {
        topic: sorted(m.member_id for m in members if topic in m.topics)
        for topic in {topic for member in members for topic in member.topics}
    }
    assigned: Assignments = {member.member_id: [] for member in members}
    orphans: list[TopicPartition] = []
    for topic in sorted(readers):
        for partition in partitions_of(topic, counts):
            owner = owners.get(partition)
            if owner in readers[topic]:
                assigned[owner].append(partition)
            else:
                orphans.append(partition)
    # Those with the fewest readers first: the others are easier to place.
    for partition in sorted(orphans, key=lambda p: (len(readers[p.topic]), p)):
        poorest = min(readers[partition.topic], key=lambda m: (len(assigned[m]), m))
        assigned[poorest].append(partition)
    while _move_one(assigned, readers):
        pass
    return assigned


def _move_one(assigned: Assignments, readers: Mapping[str, Sequence[str]]) -> bool:
    """Take a partition from one who has more to one who has at least two fewer; every move makes it more even."""
    by_load = sorted(assigned, key=lambda m: (-len(assigned[m]), m))
    for rich in by_load:
        for partition in reversed(assigned[rich]):
            poorest = min(readers[partition.topic], key=lambda m: (len(assigned[m]), m))
            if len(assigned[rich]) - len(assigned[poorest]) > 1:
                assigned[rich].remove(partition)
                assigned[poorest].append(partition)
                return True
    return False
