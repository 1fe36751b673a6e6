"""What an assignor is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from klamm.base.ids import Uuid

# The partitions of one member, by topic. No topic is named without a partition.
Partitions = Mapping[Uuid, frozenset[int]]


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A member, the topics it subscribes to that exist, and what it was to own until now."""

    topics: Collection[Uuid]
    assigned: Partitions
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """The members, and how many partitions each topic has that any of them subscribes to."""

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[Uuid, int]


# Every partition of a topic with a subscriber goes to exactly one of its subscribers.
Assignor = Callable[[GroupSpec], dict[str, Partitions]]
