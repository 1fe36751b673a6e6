"""What an assignor is, and what all of them work with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from klamm.base.ids import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member as the leader of its group sees it."""

    member_id: str
    topics: Sequence[str]
    owned: Sequence[TopicPartition] = field(default=())
    # Of which round `owned` is; -1 if unknown.
    generation: int = -1
    group_instance_id: str | None = None

    @property
    def rank(self) -> tuple[bool, str, str]:
        """Static members come first, in the order of their names, so that a restart does not change the order."""
        is_dynamic = self.group_instance_id is None
        return (is_dynamic, self.group_instance_id or "", self.member_id)


Assignments: TypeAlias = dict[str, list[TopicPartition]]


class Assignor(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def is_cooperative(self) -> bool:
        """Members keep what they have while the group balances."""
        ...

    def assign(self, members: Sequence[Member], counts: Mapping[str, int]) -> Assignments:
        """`counts` has the number of partitions of each topic that exists."""
        ...


def partitions_of(topic: str, counts: Mapping[str, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, index) for index in range(counts.get(topic, 0))]
