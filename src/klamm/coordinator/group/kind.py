"""What every kind of group can be asked: may this member commit, may the group go, when do its offsets expire."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Protocol

from klamm.base.clock import Ms
from klamm.base.ids import Uuid
from klamm.coordinator.records.framing import CoordinatorRecord

# Raises ApiError if the member may not commit for this partition: topic, its id, partition.
PartitionCheck = Callable[[str, Uuid, int], None]


class GroupKind(StrEnum):
    """The value is the name on the wire, as in ListGroups."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class Group(Protocol):
    @property
    def group_id(self) -> str: ...

    @property
    def kind(self) -> GroupKind: ...

    @property
    def protocol_type(self) -> str:
        """ "consumer", "connect" or whatever the members agreed on; "" for a group that only holds offsets."""
        ...

    @property
    def state_name(self) -> str:
        """As Kafka spells it: "Stable", "Empty", ..."""
        ...

    @property
    def is_empty(self) -> bool:
        """No members, neither now nor in the round that is forming."""
        ...

    def check_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        *,
        is_transactional: bool,
        version: int,
    ) -> PartitionCheck | None:
        """Raises ApiError if this member may not commit offsets now. `version` is that of the request.

        What it returns must be asked for each partition (KIP-1251); None: nothing is left to ask.
        """
        ...

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Raises ApiError if this member may not read the group's offsets."""
        ...

    def check_offset_delete(self) -> None:
        """Raises ApiError if single offsets cannot be deleted now, whatever their topic."""
        ...

    def check_delete(self) -> None:
        """Raises ApiError if the group cannot be deleted now."""
        ...

    def is_subscribed_to(self, topic: str) -> bool: ...

    def retention_start(self, committed_at: Ms) -> Ms | None:
        """The time from which the retention of an offset committed then counts; None while it does not expire."""
        ...

    def tombstones(self) -> Sequence[CoordinatorRecord]:
        """What removes the group from the log, its offsets aside."""
        ...
