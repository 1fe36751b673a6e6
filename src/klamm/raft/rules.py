"""Rules of the quorum that look at facts and change nothing: what a majority is, who gets a vote, what a fetch finds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from klamm.base.ids import OffsetAndEpoch
from klamm.raft.messages import Fetch, ReplicaKey, Vote
from klamm.raft.roles import Follower, Role, RoleState


def majority(voters: int) -> int:
    """The smallest number of voters of which any two sets overlap."""
    return voters // 2 + 1


def is_majority(granted: Collection[int], voters: Collection[int]) -> bool:
    """Votes of nodes that are no voters do not count."""
    return len(set(granted) & set(voters)) >= majority(len(set(voters)))


def durable_end(ends: Mapping[int, int]) -> int:
    """The highest end offset that a majority has on disk; ends has one entry for every voter."""
    descending = sorted(ends.values(), reverse=True)
    return descending[majority(len(descending)) - 1]


def high_watermark(ends: Mapping[int, int], *, epoch_start: int, current: int) -> int:
    """Where committed records end, as the leader whose epoch began at epoch_start may claim.

    A leader commits only from its own epoch on: what an earlier leader left may still be replaced by another
    voter until a record of this epoch lies behind it on a majority. It never takes back what it once claimed.
    """
    end = durable_end(ends)
    return max(end, current) if end > epoch_start else current


class RaftLog(Protocol):
    """What the machine must know of the log on disk; it changes it only through Ready."""

    @property
    def start_offset(self) -> int: ...
    @property
    def earliest_snapshot(self) -> OffsetAndEpoch | None: ...
    @property
    def newest_snapshot(self) -> OffsetAndEpoch | None: ...
    def end_of_epoch(self, epoch: int) -> OffsetAndEpoch:
        """The largest epoch not above the asked one, and where it ends."""

    def epoch_before(self, offset: int) -> int:
        """That of the last record below the offset; where the log begins, that of the snapshot there, or 0."""


def is_up_to_date(candidate: OffsetAndEpoch, ours: OffsetAndEpoch) -> bool:
    """A log with the newer last epoch is ahead; of two with the same one the longer is."""
    return (candidate.epoch, candidate.offset) >= (ours.epoch, ours.offset)


def would_grant(
    vote: Vote,
    *,
    role: Role,
    state: RoleState,
    voted: ReplicaKey | None,
    knows_leader: bool,
    log_end: OffsetAndEpoch,
) -> bool:
    """For a vote of this node's own epoch."""
    if role is Role.LEADER:
        return False
    up_to_date = is_up_to_date(vote.log_end, log_end)
    if vote.is_pre_vote:
        # Who hears the leader does not help to depose it.
        is_content = isinstance(state, Follower) and state.has_fetched
        return up_to_date and not is_content
    if role not in (Role.UNATTACHED, Role.PROSPECTIVE) or knows_leader:
        return False
    if voted is not None:
        return voted == vote.candidate
    return up_to_date


class Found(NamedTuple):
    """What a fetch runs into: at most one of them; with none the log goes on where the fetcher's ends."""

    diverging: OffsetAndEpoch | None = None
    snapshot: OffsetAndEpoch | None = None


def look_up(fetch: Fetch, log: RaftLog, *, log_end: OffsetAndEpoch) -> Found:
    offset, epoch = fetch.log_end
    earliest = log.earliest_snapshot
    if earliest is not None and (
        offset < log.start_offset
        or (offset == log.start_offset and epoch != earliest.epoch)
        or epoch < earliest.epoch
    ):
        return Found(snapshot=log.newest_snapshot)
    if offset == 0 and epoch == 0:
        return Found()
    ours = log_end if epoch == log_end.epoch else log.end_of_epoch(epoch)
    if ours.epoch != epoch or ours.offset < offset:
        return Found(diverging=ours)
    return Found()


def truncation_point(diverging: OffsetAndEpoch, log: RaftLog) -> int:
    """Where a follower cuts its log, told where the leader's log ends in the epoch that both may share."""
    ours = log.end_of_epoch(diverging.epoch)
    return min(ours.offset, diverging.offset) if ours.epoch == diverging.epoch else ours.offset
