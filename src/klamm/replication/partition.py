"""One partition on this broker: who leads it, how far it is committed, and what a client may see of it.

The log knows bytes and offsets; this knows leadership. It has no clock and no socket: `now` is an argument, and what
waits for the high watermark is kept by waiting.Waiting and woken by the shell.
"""

from __future__ import annotations

from enum import IntEnum

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.log.results import Appended, Slice

ACKS_ALL = -1


class Isolation(IntEnum):
    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class Partition:
    __slots__ = (
        "high_watermark",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_id",
        "log",
        "name",
        "partition_epoch",
        "replica_count",
        "settings",
        "topic_id",
    )

    def __init__(
        self, name: TopicPartition, topic_id: Uuid, log: Log, settings: TopicSettings
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.log = log
        self.settings = settings
        self.is_leader = False
        self.leader_id = -1
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.isr: tuple[int, ...] = ()
        self.replica_count = 0
        self.high_watermark = log.start_offset

    def become_leader(
        self,
        *,
        leader_id: int,
        leader_epoch: int,
        partition_epoch: int,
        isr: tuple[int, ...],
        replica_count: int,
    ) -> None:
        """Lead from here on. A new epoch starts at the end of the log, before anything is written in it."""
        if leader_epoch != self.leader_epoch:
            self.log.epochs.assign(leader_epoch, self.log.end_offset)
        self.is_leader = True
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.isr = isr
        self.replica_count = replica_count
        # Alone in the ISR, everything in the log is committed.
        self.high_watermark = self.log.end_offset

    def reconfigure(self, settings: TopicSettings) -> None:
        """Holds from the next append on."""
        self.settings = settings
        self.log.reconfigure(settings)

    # -- writing --------------------------------------------------------------------------------------------------

    def append(self, data: bytearray | memoryview, *, acks: int, now: int) -> Appended:
        if not self.is_leader:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if acks == ACKS_ALL and len(self.isr) < self.settings.min_insync_replicas:
            self._check_min_isr()
        appended = self.log.append(data, leader_epoch=self.leader_epoch, now=now)
        self.high_watermark = self.log.end_offset
        return appended

    def _check_min_isr(self) -> None:
        """No more replicas can be asked for than the partition has."""
        needed = min(self.settings.min_insync_replicas, self.replica_count)
        if len(self.isr) < needed:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.name} has {len(self.isr)} replicas in sync; {needed} are needed.",
            )

    def delete_records(self, before: int) -> int:
        """Move the log's start; -1 means up to the high watermark. Returns the new low watermark."""
        self.check_leader(-1)
        offset = self.high_watermark if before == -1 else before
        if not 0 <= offset <= self.high_watermark:
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if offset > self.log.start_offset:
            self.log.advance_start(offset)
        return self.log.start_offset

    # -- reading --------------------------------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """Everything below is decided: no transaction that may still abort begins there."""
        unstable = self.log.first_unstable_offset
        if unstable is None or unstable > self.high_watermark:
            return self.high_watermark
        return unstable

    def visible_end(self, isolation: int) -> int:
        return (
            self.last_stable_offset
            if isolation == Isolation.READ_COMMITTED
            else self.high_watermark
        )

    def read(self, offset: int, max_bytes: int, *, isolation: int, min_one: bool) -> Slice | None:
        return self.log.read(offset, max_bytes, up_to=self.visible_end(isolation), min_one=min_one)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The largest epoch not above this one, and where it ends; (-1, -1) if we know none."""
        return self.log.epochs.end_offset_for(epoch, self.log.end_offset) or (-1, -1)

    def check_leader(self, known_epoch: int) -> None:
        """Refuse a client that knows an older or a newer leadership than ours; -1 means it does not say."""
        if known_epoch != -1 and known_epoch != self.leader_epoch:
            if known_epoch < self.leader_epoch:
                raise ApiError(ErrorCode.FENCED_LEADER_EPOCH)
            raise ApiError(ErrorCode.UNKNOWN_LEADER_EPOCH)
        if not self.is_leader:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
