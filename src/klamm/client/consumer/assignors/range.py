"""`range`: of every topic, each member gets a run of neighbouring partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from klamm.client.consumer.assignors.assignor import Assignments, Member, partitions_of


@dataclass(frozen=True, slots=True)
class RangeAssignor:
    name: str = "range"
    is_cooperative: bool = False

    def assign(self, members: Sequence[Member], counts: Mapping[str, int]) -> Assignments:
        assigned: Assignments = {member.member_id: [] for member in members}
        for topic in sorted({topic for member in members for topic in member.topics}):
            readers = sorted((m for m in members if topic in m.topics), key=lambda m: m.rank)
            partitions = partitions_of(topic, counts)
            share, extra = divmod(len(partitions), len(readers))
            start = 0
            for place, reader in enumerate(readers):
                end = start + share + (place < extra)
                assigned[reader.member_id] += partitions[start:end]
                start = end
        return assigned
