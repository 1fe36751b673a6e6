"""Member: one consumer of a group as its records tell it. A change is a new Member."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from klamm.base.ids import Uuid

# Member epochs with a meaning of their own.
JOINING_EPOCH = 0
LEAVING_EPOCH = -1
# A static member that means to come back under the same instance id.
LEAVING_STATIC_EPOCH = -2

# For each topic the partitions, and for each of those the epoch in which the member got it.
Owned = Mapping[Uuid, Mapping[int, int]]


class MemberState(IntEnum):
    """The value is the one in the records.

    STABLE                 the member has what its epoch gives it, or waits for nothing but the next target
    UNREVOKED_PARTITIONS   it must give up partitions before it may go to the next epoch
    UNRELEASED_PARTITIONS  it is in its epoch, but others have not yet given up all that it is to get
    UNKNOWN                written by a newer broker
    """

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @classmethod
    def of(cls, value: int) -> MemberState:
        return cls(value) if value in (0, 1, 2) else cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class ClassicProtocol:
    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class ClassicFacts:
    """What a member told that speaks the classic protocol (JoinGroup, SyncGroup) in a group of this kind."""

    session_timeout_ms: int
    protocols: tuple[ClassicProtocol, ...]


@dataclass(frozen=True, slots=True)
class Member:
    member_id: str
    epoch: int = JOINING_EPOCH
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    # "" where the member subscribes by names alone. None stands for the same in records of others.
    topic_regex: str | None = ""
    server_assignor: str | None = None
    assigned: Owned = field(default_factory=dict)
    pending_revocation: Owned = field(default_factory=dict)
    classic: ClassicFacts | None = None

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == epoch

    def assignment_epoch(self, topic_id: Uuid, partition: int) -> int | None:
        """The epoch in which the member got a partition that it has, or must give up."""
        for owned in (self.assigned, self.pending_revocation):
            epochs = owned.get(topic_id)
            if epochs is not None and partition in epochs:
                return epochs[partition]
        return None


def partitions_of(owned: Owned) -> Iterable[tuple[Uuid, int]]:
    for topic_id, epochs in owned.items():
        for partition in epochs:
            yield topic_id, partition
