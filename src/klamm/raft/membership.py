"""Who may become a voter, or cease to be one (KIP-853), for the leader to decide: one change at a time.

A change holds as soon as it is in the log. So the one before it must be committed, and so must something of the leader's own
epoch: only then do any two majorities overlap, those of the old voters and those of the new ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.raft.leadership import progress_of_voter
from klamm.raft.messages import ReplicaKey
from klamm.raft.roles import Leader
from klamm.raft.voters import Voter, VoterSet

if TYPE_CHECKING:
    from klamm.raft.node import RaftNode

# Whoever has not fetched for so long is no candidate.
_HEARD_WITHIN_MS: Ms = 3_600_000


def with_added(node: RaftNode, voter: Voter, now: Ms) -> VoterSet:
    leader = _leader_that_may_change(node)
    if voter.id in node.voters.ids:
        raise ApiError(
            ErrorCode.DUPLICATE_VOTER, f"Node {voter.id} is a voter already; remove it first."
        )
    progress = leader.progress.get(voter.key)
    if (
        progress is None
        or progress.caught_up_at is None
        or progress.fetched_at is None
        or progress.fetched_at <= now - _HEARD_WITHIN_MS
    ):
        raise ApiError(
            ErrorCode.REQUEST_TIMED_OUT,
            f"Node {voter.id} with directory {voter.directory} has not caught up with the log of the leader.",
        )
    return node.voters.with_voter(voter)


def with_removed(node: RaftNode, key: ReplicaKey) -> VoterSet:
    _leader_that_may_change(node)
    voter = node.voters.find(key.id)
    if voter is None or voter.key != key:
        raise ApiError(
            ErrorCode.VOTER_NOT_FOUND, f"No voter {key.id} has the directory {key.directory}."
        )
    if len(node.voters.voters) == 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, "The last voter cannot be removed.")
    return node.voters.without(key.id)


def with_updated(node: RaftNode, voter: Voter) -> VoterSet:
    """The voter has other addresses, or understands other versions, than the log says."""
    _leader_that_may_change(node)
    known = node.voters.find(voter.id)
    if known is None or known.key != voter.key:
        raise ApiError(ErrorCode.VOTER_NOT_FOUND)
    lowest, highest = voter.kraft_versions
    version = node.replica.history.records.version
    if version is not None and not lowest <= version.kraft_version <= highest:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    return node.voters.with_voter(voter)


def from_settings(node: RaftNode, now: Ms) -> VoterSet:
    """The voters of the settings as they stand in the log from kraft.version 1 on: with the directories they fetch for."""
    leader = _leader(node)
    found = VoterSet()
    for voter in node.voters.voters:
        directory = node.me.directory
        if voter.id != node.me.id:
            progress = progress_of_voter(leader, voter)
            heard_at = progress.heard_at if progress is not None else None
            if progress is None or heard_at is None or heard_at <= now - _HEARD_WITHIN_MS:
                raise ApiError(
                    ErrorCode.INVALID_UPDATE_VERSION,
                    f"Voter {voter.id} has not been heard, so its directory is not known.",
                )
            directory = progress.key.directory
        found = found.with_voter(voter._replace(directory=directory))
    if node.high_watermark <= leader.epoch_start:
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "The leader has not committed anything yet.")
    return found


def _leader(node: RaftNode) -> Leader:
    if not isinstance(node.state, Leader):
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return node.state


def _leader_that_may_change(node: RaftNode) -> Leader:
    leader = _leader(node)
    history = node.replica.history
    if not history.records.is_dynamic:
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            "The voters stand in controller.quorum.voters and cannot change: kraft.version is 0.",
        )
    if node.high_watermark <= leader.epoch_start:
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "The leader has not committed anything yet.")
    if history.changed_at >= node.high_watermark:
        raise ApiError(
            ErrorCode.REQUEST_TIMED_OUT, "Another change of the voters is not committed yet."
        )
    return leader
