"""One partition on this broker: who leads it, how far it is committed, and what a client may see of it.

The log knows bytes and offsets; this knows leadership. It has no clock and no socket: `now` is an argument, and what
waits for the log's end or the high watermark (purgatory.Purgatory, acks.Acknowledgements) is woken by the shell.
What a leader knows of its followers is in leader.py.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from klamm.base.clock import Ms, Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.log.results import Appended, OffsetOutOfRange, Origin, Slice, TimestampedOffset
from klamm.metadata.features import BUMPS_EPOCHS
from klamm.metadata.image import NO_LEADER, PartitionImage
from klamm.protocol.records.batch import read_header
from klamm.protocol.records.control import EndMarker, end_marker_batch
from klamm.replication.isr import IsrProposal
from klamm.replication.leader import NEVER, ActiveEpoch, Leadership
from klamm.replication.verification import Verifications

ACKS_ALL = -1
DEFAULT_LAG_MS = 30_000
# How long after a change of leaders a producer may be confused: a few rounds of a client's retries.
_SETTLING_MS = 5_000


# Hears of the disk error that a partition ran into.
OnFailure = Callable[["Partition", OSError], None]


Parameters = ParamSpec("Parameters")
T = TypeVar("T")


def guarded(
    method: Callable[Concatenate[Partition, Parameters], T],
) -> Callable[Concatenate[Partition, Parameters], T]:
    """A disk error inside becomes the partition's failure, and KAFKA_STORAGE_ERROR to the client."""

    @wraps(method)
    def method_of(self: Partition, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except OSError as e:
            raise self.failed(e) from e

    return method_of


class Isolation(IntEnum):
    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class Role(Enum):
    LEADER = "leader"
    FOLLOWER = "follower"
    # Its directory failed: whoever asks is told so.
    OFFLINE = "offline"


class Append(Protocol):
    def __call__(self, data: bytearray | memoryview, *, acks: int, now: Ms) -> Appended: ...


class Partition:
    __slots__ = (
        "_began_at",
        "_knows_ends",
        "append",
        "high_watermark",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_id",
        "leadership",
        "log",
        "name",
        "on_failure",
        "partition_epoch",
        "replica_count",
        "role",
        "settings",
        "topic_id",
        "verifications",
    )

    def __init__(
        self,
        name: TopicPartition,
        topic_id: Uuid,
        log: Log,
        settings: TopicSettings,
        *,
        high_watermark: int = 0,
    ) -> None:
        """high_watermark: the one that was written down before the last stop."""
        self.name = name
        self.topic_id = topic_id
        self.log = log
        self.settings = settings
        self.role = Role.FOLLOWER
        self.is_leader = False
        # What a produce calls. It differs with the role, so that who has no followers pays for none.
        self.append: Append = self._refuse_append
        # Of a leader that has followers.
        self.leadership: Leadership | None = None
        self.on_failure: OnFailure | None = None
        self.leader_id = NO_LEADER
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.isr: tuple[int, ...] = ()
        self.replica_count = 0
        self.high_watermark = min(max(high_watermark, log.start_offset), log.end_offset)
        self.verifications = Verifications()
        # When the epoch began, by the wall's clock.
        self._began_at = NEVER
        # Whether the log knows which transactions ended above the high watermark. Who is alone need not ask.
        self._knows_ends = False

    @property
    def is_offline(self) -> bool:
        return self.role is Role.OFFLINE

    # -- roles ------------------------------------------------------------------------------------------------------

    def make_leader(
        self,
        state: PartitionImage,
        *,
        now: Now,
        broker_epochs: ActiveEpoch,
        lag_ms: int = DEFAULT_LAG_MS,
    ) -> bool:
        """Lead from here on; True if that, or the leader epoch, is new.

        A new epoch starts at the end of the log, before anything is written in it. If only the ISR or the replicas changed,
        what is known of the followers stays, and so does the high watermark.
        """
        if self.is_offline or state.partition_epoch < self.partition_epoch:
            # Our own proposal was accepted, and its answer came before this older state.
            return False
        is_new_leader = not self.is_leader
        is_new_epoch = state.leader_epoch != self.leader_epoch
        if not (is_new_leader or is_new_epoch) and state.partition_epoch == self.partition_epoch:
            return False
        if is_new_epoch:
            self.log.epochs.assign(state.leader_epoch, self.log.end_offset)
        self._take_over(state)
        self.role = Role.LEADER
        self.is_leader = True
        if len(state.replicas) == 1:
            # Alone, everything in the log is committed.
            self.leadership = None
            self.append = self._append_alone
            self.high_watermark = self.log.end_offset
            return is_new_leader or is_new_epoch
        self.recall_ends()
        if self.leadership is None:
            self.leadership = Leadership(state.leader, broker_epochs, lag_ms)
        self.leadership.now = now.monotonic
        self.leadership.assign(state.replicas, state.isr)
        if is_new_leader or is_new_epoch:
            self._began_at = NEVER if state.leader_recovery_state else now.wall
            self.leadership.begin_epoch(
                self.log.end_offset, now.monotonic, is_new_leader=is_new_leader
            )
        self.append = self._append_replicated
        self._raise_high_watermark(self.leadership)
        return is_new_leader or is_new_epoch

    def make_follower(self, state: PartitionImage) -> bool:
        """Follow from here on; True if the leader or its epoch is new, so that fetching begins anew."""
        if self.is_offline or state.partition_epoch < self.partition_epoch:
            return False
        is_news = (
            self.is_leader
            or state.leader != self.leader_id
            or state.leader_epoch != self.leader_epoch
        )
        self._take_over(state)
        self.role = Role.FOLLOWER
        self._step_down()
        self.recall_ends()
        return is_news

    @guarded
    def recall_ends(self, *, again: bool = False) -> None:
        """A snapshot of the producers may stand above the high watermark, and says nothing of what ended between.

        again: they were read from a snapshot once more.
        """
        if again or not self._knows_ends:
            self.log.recall_ends(self.high_watermark)
            self._knows_ends = True

    def _take_over(self, state: PartitionImage) -> None:
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.isr = state.isr
        self.replica_count = len(state.replicas)

    def _step_down(self) -> None:
        self.is_leader = False
        self.append = self._refuse_append
        self.leadership = None
        self.verifications.void_all()

    def retire(self) -> None:
        """It is no longer this broker's: whoever still holds it gets nothing from it."""
        self.role = Role.FOLLOWER
        self.leader_id = NO_LEADER
        self._step_down()

    def reconfigure(self, settings: TopicSettings) -> None:
        """Holds from the next append on."""
        self.settings = settings
        self.log.reconfigure(settings)

    # -- writing --------------------------------------------------------------------------------------------------

    def _append_alone(self, data: bytearray | memoryview, *, acks: int, now: Ms) -> Appended:
        """Of a partition with one replica, which is always in sync with itself."""
        try:
            appended = self.log.append(data, leader_epoch=self.leader_epoch, now=now)
        except OSError as e:
            raise self.failed(e) from e
        self.high_watermark = self.log.end_offset
        return appended

    def _append_replicated(self, data: bytearray | memoryview, *, acks: int, now: Ms) -> Appended:
        """What followers must have, too: it is committed when the high watermark has passed it."""
        leadership = self.leadership
        assert leadership is not None
        if acks == ACKS_ALL and len(self.isr) < self.settings.min_insync_replicas:
            self._check_min_isr()
        try:
            appended = self.log.append(data, leader_epoch=self.leader_epoch, now=now)
        except OSError as e:
            raise self.failed(e) from e
        except ApiError as e:
            # Deviation: see _is_premature.
            if e.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and self._is_premature(data, now):
                raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER) from e
            raise
        if leadership.is_alone_in_isr:
            self._raise_high_watermark(leadership)
        return appended

    def _refuse_append(self, data: bytearray | memoryview, *, acks: int, now: Ms) -> Appended:
        raise self.not_leader()

    def append_own(self, data: bytearray, *, acks: int, now: Ms) -> Appended:
        """Records of this broker's coordinators, and the markers of transactions."""
        if not self.is_leader:
            raise self.not_leader()
        if acks == ACKS_ALL and len(self.isr) < self.settings.min_insync_replicas:
            self._check_min_isr()
        try:
            appended = self.log.append(
                data, leader_epoch=self.leader_epoch, now=now, origin=Origin.COORDINATOR
            )
        except OSError as e:
            raise self.failed(e) from e
        if self.leadership is None:
            self.high_watermark = self.log.end_offset
        elif self.leadership.is_alone_in_isr:
            self._raise_high_watermark(self.leadership)
        return appended

    def append_marker(
        self, marker: EndMarker, producer_id: int, epoch: int, *, client_version: int, now: Ms
    ) -> Appended:
        """The end of a transaction. Once more does no harm: the log stands as it stood, but for one more marker."""
        state = self.log.producers.get(producer_id)
        if (
            client_version >= BUMPS_EPOCHS
            and state is not None
            and state.txn_first_offset is not None
            and epoch <= state.epoch
        ):
            # It is meant for an earlier transaction: each ends with an epoch above its own.
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH)
        batch = end_marker_batch(
            marker, producer_id=producer_id, producer_epoch=epoch, timestamp=now
        )
        appended = self.append_own(batch, acks=ACKS_ALL, now=now)
        self.log.producers.committed(self.high_watermark)
        self.verifications.void(producer_id)
        return appended

    @property
    def min_isr(self) -> int:
        """No more replicas can be asked for than the partition has."""
        return min(self.settings.min_insync_replicas, self.replica_count)

    @property
    def has_min_isr(self) -> bool:
        """Whether an append with acks=all would be taken."""
        return len(self.isr) >= min(self.settings.min_insync_replicas, self.replica_count)

    def _check_min_isr(self) -> None:
        if len(self.isr) < self.min_isr:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.name} has {len(self.isr)} replicas in sync; {self.min_isr} are needed.",
            )

    def _is_premature(self, data: bytearray | memoryview, now: Ms) -> bool:
        """Whether a batch out of order comes from a producer that is just moving to us from the last leader.

        An earlier one of its batches may have been refused because we did not lead yet, and comes again; or it is on its way.
        A client that hears OUT_OF_ORDER_SEQUENCE_NUMBER may give itself a new epoch and write again what is in the log already
        (librdkafka #4953). Told that we do not lead, it asks for the leader and sends the same batches again, in order.

        Only until the producer has written in this epoch, and not for long: a gap that stays is a loss, and must be told.
        """
        leadership = self.leadership
        producer = self.log.producers.get(read_header(data).producer_id)
        if leadership is None or producer is None:
            return False
        if producer.batches and producer.batches[-1].last_offset >= leadership.epoch_start:
            return False
        is_new = 0 <= now - self._began_at < _SETTLING_MS
        return is_new or self.high_watermark < leadership.epoch_start

    # -- followers --------------------------------------------------------------------------------------------------

    def check_replica(self, replica_id: int, broker_epoch: int, known_epoch: int) -> None:
        """Refuse a fetch of one that is no replica, or that does not know what we know."""
        self.check_leader(known_epoch)
        if self.leadership is None:
            raise ApiError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER
                if known_epoch == -1
                else ErrorCode.UNKNOWN_LEADER_EPOCH
            )
        self.leadership.follower(replica_id, knows_epoch=known_epoch != -1)
        self.leadership.check_broker_epoch(replica_id, broker_epoch)

    def fetched_by(
        self, replica_id: int, broker_epoch: int, offset: int, log_start: int, now: Ms
    ) -> bool:
        """A follower, checked before, asks from the offset on; so it has what is below. True if the high watermark rose."""
        leadership = self.leadership
        assert leadership is not None
        log = self.log
        if not log.start_offset <= offset <= log.end_offset:
            raise OffsetOutOfRange(offset, log.start_offset, log.end_offset)
        leadership.now = now
        follower = leadership.followers[replica_id]
        follower.fetched(offset, log_start, broker_epoch, log.end_offset, now)
        return self._raise_high_watermark(leadership)

    def wishes_isr_change(self, replica_id: int) -> bool:
        """Whether the follower, who has just fetched, should be in the ISR and is not."""
        leadership = self.leadership
        return leadership is not None and leadership.wishes_to_join(
            replica_id, self.high_watermark, self.log.end_offset
        )

    def isr_changes(self, now: Ms, broker_epoch: int) -> IsrProposal | None:
        """What to propose to the controller, if anything: it is pending then, until the answer or new metadata come."""
        leadership = self.leadership
        if leadership is None or leadership.isr.pending is not None:
            return None
        leadership.now = now
        isr = leadership.wished_isr(self.high_watermark, self.log.end_offset)
        if isr == self.isr:
            return None
        proposal = IsrProposal(
            leadership.members(isr, broker_epoch),
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
        )
        leadership.isr.propose(proposal)
        return proposal

    def isr_accepted(
        self,
        proposal: IsrProposal,
        isr: tuple[int, ...],
        *,
        leader_epoch: int,
        partition_epoch: int,
    ) -> bool:
        """The controller's answer; True if the high watermark rose."""
        leadership = self.leadership
        if (
            leadership is None
            or leadership.isr.pending is not proposal
            or leader_epoch != self.leader_epoch
            or partition_epoch < self.partition_epoch
        ):
            return False
        self.partition_epoch = partition_epoch
        self.isr = isr
        leadership.isr.commit(isr)
        return self._raise_high_watermark(leadership)

    def isr_refused(self, proposal: IsrProposal, code: ErrorCode) -> bool:
        """True if the same proposal is to be sent again."""
        return self.leadership is not None and self.leadership.is_retried(proposal, code)

    def _raise_high_watermark(self, leadership: Leadership) -> bool:
        """It never falls, and with fewer replicas in sync than asked for it stays (KIP-966)."""
        if len(self.isr) < self.settings.min_insync_replicas and len(self.isr) < self.min_isr:
            return False
        committed = leadership.committed_end(self.log.end_offset)
        if committed <= self.high_watermark:
            return False
        self.high_watermark = committed
        self.log.producers.committed(committed)
        return True

    # -- deleting records -------------------------------------------------------------------------------------------

    @guarded
    def delete_records(self, before: int) -> int:
        """Move the log's start; -1 means up to the high watermark. Returns the new low watermark, of all replicas."""
        self.check_leader(-1)
        offset = self.high_watermark if before == -1 else before
        if not 0 <= offset <= self.high_watermark:
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if offset > self.log.start_offset:
            self.log.advance_start(offset)
        return self.low_watermark

    @property
    def low_watermark(self) -> int:
        start = self.log.start_offset
        return start if self.leadership is None else self.leadership.low_watermark(start)

    # -- reading --------------------------------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """Everything below is decided: no transaction begins there that may still abort.

        One whose end is not committed may: another leader may not have its marker.
        """
        high_watermark = self.high_watermark
        unstable = self.log.producers.first_undecided_offset(high_watermark)
        if unstable is None or unstable > high_watermark:
            return high_watermark
        return max(unstable, self.log.start_offset)

    @property
    def is_behind_epoch(self) -> bool:
        """A new leader does not know yet how much of its log is committed: clients may have been told of a higher end."""
        leadership = self.leadership
        return leadership is not None and self.high_watermark < leadership.epoch_start

    def visible_end(self, isolation: int) -> int:
        return (
            self.last_stable_offset
            if isolation == Isolation.READ_COMMITTED
            else self.high_watermark
        )

    @guarded
    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        return self.log.offset_for_timestamp(timestamp)

    @guarded
    def max_timestamp(self) -> TimestampedOffset | None:
        return self.log.max_timestamp()

    @guarded
    def aborted_transactions(self, start: int, end: int) -> list[tuple[int, int]]:
        return self.log.aborted_transactions(start, end)

    @guarded
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

    def read_to_end(self, offset: int, max_bytes: int, *, min_one: bool) -> Slice | None:
        """For followers: also what is not committed."""
        log = self.log
        try:
            return log.read(offset, max_bytes, up_to=log.end_offset, min_one=min_one)
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
            raise self.not_leader()

    def check_replica_of(self, known_epoch: int) -> None:
        """The same for who may read from a follower, too."""
        if self.role is Role.FOLLOWER and known_epoch in (-1, self.leader_epoch):
            return
        self.check_leader(known_epoch)

    # -- a disk that fails ----------------------------------------------------------------------------------------

    def failed(self, error: OSError) -> ApiError:
        """The disk said no. Tell whoever takes the directory offline; the caller raises what the client is told."""
        if self.on_failure is not None:
            self.on_failure(self, error)
        return ApiError(ErrorCode.KAFKA_STORAGE_ERROR)

    def go_offline(self) -> None:
        self.role = Role.OFFLINE
        self._step_down()

    def not_leader(self) -> ApiError:
        """What whoever wants its leader is told."""
        return ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR if self.is_offline else ErrorCode.NOT_LEADER_OR_FOLLOWER
        )
