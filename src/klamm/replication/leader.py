"""What only the leader of a replicated partition knows: how far each follower is, and who counts as in sync.

Pure. A follower's state changes when it fetches; the controller's answers and new metadata change the ISR. From both
follows how far the log is committed: the least log end of all who are in sync, or are about to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.replication.isr import BrokerInIsr, Isr, IsrProposal

# The epoch under which a broker is registered, if it is neither fenced nor shutting down; else None.
ActiveEpoch = Callable[[int], int | None]

NEVER = -(1 << 62)
UNKNOWN = -1


# The controller knows better, and its metadata is on its way to us: nothing may be proposed before it came.
_WAITS_FOR_METADATA = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.NEW_LEADER_ELECTED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
_WITHDRAWN = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)


class RemoteReplica:
    """A follower, as its fetches show it. Times are monotonic."""

    __slots__ = (
        "broker_epoch",
        "broker_id",
        "caught_up_at",
        "end_offset",
        "fetched_at",
        "leader_end_at_fetch",
        "start_offset",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.forget(NEVER)

    def forget(self, caught_up_at: Ms) -> None:
        """We lead anew: what it has is unknown until it fetches."""
        self.broker_epoch: int | None = None
        self.end_offset = UNKNOWN
        self.start_offset = UNKNOWN
        self.leader_end_at_fetch = UNKNOWN
        self.fetched_at = NEVER
        self.caught_up_at = caught_up_at

    def enter_epoch(self, leader_end: int, now: Ms, *, is_in_sync: bool) -> None:
        """We lead on, in another epoch: what it has stays known."""
        self.leader_end_at_fetch = leader_end
        self.fetched_at = self.caught_up_at = now if is_in_sync else NEVER

    def fetched(
        self, offset: int, log_start: int, broker_epoch: int, leader_end: int, now: Ms
    ) -> None:
        """It asks from `offset` on, so it has everything below.

        A follower of a busy partition never sees the end of the log. So it also counts as caught up, at the time of its fetch
        before, if it now has all that the log had then.
        """
        if offset >= leader_end:
            self.caught_up_at = max(self.caught_up_at, now)
        elif offset >= self.leader_end_at_fetch:
            self.caught_up_at = max(self.caught_up_at, self.fetched_at)
        self.end_offset = offset
        self.start_offset = log_start
        self.broker_epoch = broker_epoch
        self.leader_end_at_fetch = max(leader_end, self.leader_end_at_fetch)
        self.fetched_at = now

    def was_caught_up(self, at: Ms) -> None:
        """Its session fetched at this time and did not name it, with nothing new to tell: then it had all there was.

        Unless it had not when it was last named: it was sent what there was room for, and has not asked on yet.
        """
        if self.end_offset < self.leader_end_at_fetch:
            return
        self.fetched_at = max(self.fetched_at, at)
        self.caught_up_at = max(self.caught_up_at, at)

    def is_caught_up(self, leader_end: int, now: Ms, lag_ms: int) -> bool:
        return self.end_offset == leader_end or now - self.caught_up_at <= lag_ms


class Leadership:
    """One partition's followers and ISR, for as long as this broker leads it; `epoch_start` is where the epoch began."""

    __slots__ = ("_active_epoch", "_lag_ms", "broker_id", "epoch_start", "followers", "isr", "now")

    def __init__(self, broker_id: int, active_epoch: ActiveEpoch, lag_ms: int) -> None:
        self.broker_id = broker_id
        self.epoch_start = 0
        # The last that was heard of the monotonic clock: appends come with the wall's time only.
        self.now: Ms = NEVER
        self.isr = Isr(())
        self.followers: dict[int, RemoteReplica] = {}
        self._active_epoch = active_epoch
        self._lag_ms = lag_ms

    # -- metadata ---------------------------------------------------------------------------------------------------

    def assign(self, replicas: Iterable[int], isr: tuple[int, ...]) -> None:
        """As the controller has decided; what was pending is overtaken by it."""
        self.followers = {
            each: self.followers.get(each) or RemoteReplica(each)
            for each in replicas
            if each != self.broker_id
        }
        self.isr.commit(isr)

    def begin_epoch(self, start: int, now: Ms, *, is_new_leader: bool) -> None:
        self.epoch_start = start
        for each in self.followers.values():
            is_in_sync = each.broker_id in self.isr.maximal
            if is_new_leader:
                each.forget(now if is_in_sync else NEVER)
            else:
                each.enter_epoch(start, now, is_in_sync=is_in_sync)

    # -- followers --------------------------------------------------------------------------------------------------

    def follower(self, broker_id: int, *, knows_epoch: bool) -> RemoteReplica:
        found = self.followers.get(broker_id)
        if found is None:
            # One that names our epoch may have heard of its place among the replicas before us: it asks again.
            raise ApiError(
                ErrorCode.UNKNOWN_LEADER_EPOCH if knows_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER
            )
        return found

    def check_broker_epoch(self, broker_id: int, broker_epoch: int) -> None:
        """Refuse what a broker sent before it was started anew (KIP-903)."""
        known = self._active_epoch(broker_id)
        if broker_epoch != -1 and known is not None and known > broker_epoch:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def committed_end(self, end_offset: int) -> int:
        """Up to where everybody who counts has the log.

        Also who is caught up and about to be proposed counts: else the high watermark might run away from it for ever.
        """
        least = end_offset
        maximal = self.isr.maximal
        for each in self.followers.values():
            if each.end_offset < least and (
                each.broker_id in maximal
                or (
                    each.is_caught_up(end_offset, self.now, self._lag_ms)
                    and self._is_eligible(each)
                )
            ):
                least = each.end_offset
        return least

    @property
    def is_alone_in_isr(self) -> bool:
        return len(self.isr.maximal) == 1

    def low_watermark(self, log_start: int) -> int:
        """The least log start of all replicas that live."""
        starts = [
            each.start_offset
            for each in self.followers.values()
            if self._active_epoch(each.broker_id) is not None
        ]
        return min([log_start, *starts])

    def _is_eligible(self, follower: RemoteReplica) -> bool:
        known = self._active_epoch(follower.broker_id)
        return (
            known is not None
            and follower.broker_epoch is not None
            and follower.broker_epoch in (-1, known)
        )

    # -- the ISR ----------------------------------------------------------------------------------------------------

    def wished_isr(self, high_watermark: int, end_offset: int) -> tuple[int, ...]:
        """Without those that are no longer caught up, and with those that are again."""
        isr = self.isr.committed
        joining = (each.broker_id for each in self.followers.values() if each.broker_id not in isr)
        return tuple(
            each
            for each in (*isr, *joining)
            if (follower := self.followers.get(each)) is None
            or self._belongs(follower, high_watermark, end_offset)
        )

    def wishes_to_join(self, broker_id: int, high_watermark: int, end_offset: int) -> bool:
        return (
            broker_id not in self.isr.maximal
            and self.isr.pending is None
            and self._belongs(self.followers[broker_id], high_watermark, end_offset)
        )

    def _belongs(self, follower: RemoteReplica, high_watermark: int, end_offset: int) -> bool:
        if not follower.is_caught_up(end_offset, self.now, self._lag_ms):
            return False
        # To come in it must have all that is committed, and all from before this epoch; and be the one it says it is.
        return follower.broker_id in self.isr.committed or (
            follower.end_offset >= max(high_watermark, self.epoch_start)
            and self._is_eligible(follower)
        )

    def members(self, isr: Iterable[int], broker_epoch: int) -> tuple[BrokerInIsr, ...]:
        """With the epochs under which they fetched; ours is an argument."""
        return tuple(BrokerInIsr(each, self._epoch_of(each, broker_epoch)) for each in isr)

    def _epoch_of(self, broker_id: int, ours: int) -> int:
        if broker_id == self.broker_id:
            return ours
        follower = self.followers.get(broker_id)
        return -1 if follower is None or follower.broker_epoch is None else follower.broker_epoch

    def is_retried(self, proposal: IsrProposal, code: ErrorCode) -> bool:
        """Whether a refused proposal is worth sending again."""
        if self.isr.pending is not proposal or code in _WAITS_FOR_METADATA:
            return False
        if code in _WITHDRAWN:
            self.isr.withdraw()
            return False
        return True
