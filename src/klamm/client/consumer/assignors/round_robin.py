"""`roundrobin`: all partitions in a row, dealt out to the members in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from klamm.client.consumer.assignors.assignor import Assignments, Member, partitions_of


@dataclass(frozen=True, slots=True)
class RoundRobinAssignor:
    name: str = "roundrobin"
    is_cooperative: bool = False

    def assign(self, members: Sequence[Member], counts: Mapping[str, int]) -> Assignments:
        assigned: Assignments = {member.member_id: [] for member in members}
        turns = cycle(sorted(members, key=lambda m: m.rank))
        for topic in sorted({topic for member in members for topic in member.topics}):
            for partition in partitions_of(topic, counts):
                reader = next(member for member in turns if topic in member.topics)
                assigned[reader.member_id].append(partition)
        return assigned
