"""One partition on this broker: who leads it, how far it is committed, and what a client may see of it.

The log knows bytes and offsets; this knows leadership. It has no clock and no socket: `now` is an argument, and what
waits for the high watermark is kept by purgatory.Purgatory and woken by the shell.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.log.results import Appended, Origin, Slice, TimestampedOffset
from klamm.protocol.records.control import EndMarker, end_marker_batch
from klamm.replication.verification import Verifications

ACKS_ALL = -1
# The transaction.version from which on every end of a transaction has an epoch of its own (KIP-890, KIP-1228).
_BUMPS_EPOCHS = 2


# Hears of the disk error that a partition ran into.
OnFailure = Callable[["Partition", OSError], None]


Parameters = ParamSpec("Parameters")
T = TypeVar("T")


def _guarded(
    method: Callable[Concatenate[Partition, Parameters], T],
) -> Callable[Concatenate[Partition, Parameters], T]:
    """A disk error inside becomes the partition's failure, and KAFKA_STORAGE_ERROR to the client."""

    @wraps(method)
    def guarded(self: Partition, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except OSError as e:
            raise self.failed(e) from e

    return guarded


class Isolation(IntEnum):
    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class Partition:
    __slots__ = (
        "high_watermark",
        "is_leader",
        "is_offline",
        "isr",
        "leader_epoch",
        "leader_id",
        "log",
        "name",
        "on_failure",
        "partition_epoch",
        "replica_count",
        "settings",
        "topic_id",
        "verifications",
    )

    def __init__(
        self, name: TopicPartition, topic_id: Uuid, log: Log, settings: TopicSettings
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.log = log
        self.settings = settings
        self.is_leader = False
        # Its directory failed: whoever asks is told so.
        self.is_offline = False
        self.on_failure: OnFailure | None = None
        self.leader_id = -1
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.isr: tuple[int, ...] = ()
        self.replica_count = 0
        self.high_watermark = log.start_offset
        self.verifications = Verifications()

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
            raise self._not_leader()
        if acks == ACKS_ALL and len(self.isr) < self.settings.min_insync_replicas:
            self._check_min_isr()
        try:
            appended = self.log.append(data, leader_epoch=self.leader_epoch, now=now)
        except OSError as e:
            raise self.failed(e) from e
        self.high_watermark = self.log.end_offset
        return appended

    def append_own(self, data: bytearray, *, acks: int, now: int) -> Appended:
        """Records of this broker's coordinators, and the markers of transactions."""
        if not self.is_leader:
            raise self._not_leader()
        if acks == ACKS_ALL and len(self.isr) < self.settings.min_insync_replicas:
            self._check_min_isr()
        try:
            appended = self.log.append(
                data, leader_epoch=self.leader_epoch, now=now, origin=Origin.COORDINATOR
            )
        except OSError as e:
            raise self.failed(e) from e
        self.high_watermark = self.log.end_offset
        return appended

    def append_marker(
        self, marker: EndMarker, producer_id: int, epoch: int, *, client_version: int, now: int
    ) -> None:
        """The end of a transaction. Once more does no harm: the log stands as it stood, but for one more marker."""
        state = self.log.producers.get(producer_id)
        if (
            client_version >= _BUMPS_EPOCHS
            and state is not None
            and state.txn_first_offset is not None
            and epoch <= state.epoch
        ):
            # It is meant for an earlier transaction: each ends with an epoch above its own.
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH)
        batch = end_marker_batch(
            marker, producer_id=producer_id, producer_epoch=epoch, timestamp=now
        )
        self.append_own(batch, acks=ACKS_ALL, now=now)
        self.verifications.void(producer_id)

    @property
    def has_min_isr(self) -> bool:
        """Whether an append with acks=all would be taken."""
        return len(self.isr) >= min(self.settings.min_insync_replicas, self.replica_count)

    def _check_min_isr(self) -> None:
        """No more replicas can be asked for than the partition has."""
        needed = min(self.settings.min_insync_replicas, self.replica_count)
        if len(self.isr) < needed:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.name} has {len(self.isr)} replicas in sync; {needed} are needed.",
            )

    @_guarded
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

    @_guarded
    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        return self.log.offset_for_timestamp(timestamp)

    @_guarded
    def max_timestamp(self) -> TimestampedOffset | None:
        return self.log.max_timestamp()

    @_guarded
    def aborted_transactions(self, start: int, end: int) -> list[tuple[int, int]]:
        return self.log.aborted_transactions(start, end)

    @_guarded
    def retain(self, now: int) -> int:
        """Drop what retention lets go; returns how many segments that were."""
        return len(self.log.retain(now, up_to=self.high_watermark))

    def read(self, offset: int, max_bytes: int, *, isolation: int, min_one: bool) -> Slice | None:
        try:
            return self.log.read(
                offset, max_bytes, up_to=self.visible_end(isolation), min_one=min_one
            )
        except OSError as e:
            raise self.failed(e) from e

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
            raise self._not_leader()

    # -- a disk that fails ----------------------------------------------------------------------------------------

    def failed(self, error: OSError) -> ApiError:
        """The disk said no. Tell whoever takes the directory offline; the caller raises what the client is told."""
        if self.on_failure is not None:
            self.on_failure(self, error)
        return ApiError(ErrorCode.KAFKA_STORAGE_ERROR)

    def go_offline(self) -> None:
        self.is_offline = True
        self.is_leader = False

    def _not_leader(self) -> ApiError:
        return ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR if self.is_offline else ErrorCode.NOT_LEADER_OR_FOLLOWER
        )
