"""What other nodes ask, what it changes here, and what they are answered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from klamm.base.clock import Ms
from klamm.base.errors import ErrorCode
from klamm.raft import leadership
from klamm.raft.messages import (
    Answer,
    BeginEpoch,
    EndEpoch,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    ReplicaKey,
    SnapshotAnswer,
    Vote,
    VoteAnswer,
)
from klamm.raft.roles import Follower, Leader, Role, Unattached
from klamm.raft.rules import look_up, would_grant

if TYPE_CHECKING:
    from klamm.raft.node import RaftNode

# Who is told in line to stand waits so much longer than the one before it.
SUCCESSION_MS = 50


def vote(node: RaftNode, asked: Vote, now: Ms) -> VoteAnswer:
    if asked.epoch < node.epoch:
        return node.known.vote_answer(ErrorCode.FENCED_LEADER_EPOCH)
    last = asked.log_end
    too_new = last.epoch > asked.epoch if asked.is_pre_vote else last.epoch >= asked.epoch
    if last.offset < 0 or last.epoch < 0 or too_new:
        return node.known.vote_answer(ErrorCode.INVALID_REQUEST)
    if not _is_me(node, asked.voter):
        return node.known.vote_answer(ErrorCode.INVALID_VOTER_KEY)
    if asked.epoch > node.epoch:
        node.detach(asked.epoch, now)
    is_granted = would_grant(
        asked,
        role=node.role,
        state=node.state,
        voted=node.known.voted,
        knows_leader=node.leader_id is not None,
        log_end=node.replica.end,
    )
    if is_granted and not asked.is_pre_vote and node.known.voted is None:
        node.known.voted = asked.candidate
        node.persist()
        # Whoever gave its vote lets the candidate try first.
        node.become(Role.UNATTACHED, Unattached(now + node.election_delay()))
    return node.known.vote_answer(is_granted=is_granted)


def begin_epoch(node: RaftNode, begin: BeginEpoch, now: Ms) -> Answer:
    if begin.epoch < node.epoch:
        return node.known.answer(ErrorCode.FENCED_LEADER_EPOCH)
    if not _is_me(node, begin.voter):
        return node.known.answer(ErrorCode.INVALID_VOTER_KEY)
    if begin.leader_id == node.me.id or node.known.is_led_by_another_than(
        begin.leader_id, begin.epoch
    ):
        return node.known.answer(ErrorCode.INVALID_REQUEST)
    node.follow_if_new(begin.leader_id, begin.epoch, begin.address, now)
    return node.known.answer()


def end_epoch(node: RaftNode, end: EndEpoch, now: Ms) -> Answer:
    if end.epoch < node.epoch:
        return node.known.answer(ErrorCode.FENCED_LEADER_EPOCH)
    if end.leader_id == node.me.id or node.known.is_led_by_another_than(end.leader_id, end.epoch):
        return node.known.answer(ErrorCode.INVALID_REQUEST)
    node.follow_if_new(end.leader_id, end.epoch, end.address, now)
    if isinstance(node.state, Follower):
        ids = [each.id for each in end.preferred]
        place = ids.index(node.me.id) if node.me.id in ids else len(ids)
        wait = min(place * SUCCESSION_MS, node.timing.election_backoff_max)
        node.state.has_fetched = False
        node.state.timeout_at = now + wait
    return node.known.answer()


def fetch(node: RaftNode, asked: Fetch, now: Ms) -> FetchAnswer:
    answer = look(node, asked)
    if answer.error is ErrorCode.NONE:
        assert isinstance(node.state, Leader)
        if asked.replica.id < 0:
            # A tool that reads along.
            return answer
        progress = leadership.progress_of(node.state, asked.replica)
        progress.heard_at = now
        if answer.diverging is None and answer.snapshot is None:
            progress.fetched(asked.log_end.offset, leader_end=node.end_offset, now=now)
            node.commit(now)
        return replace(answer, high_watermark=node.high_watermark)
    return answer


def look(node: RaftNode, fetch: Fetch) -> FetchAnswer:
    """What a fetch would be answered now. Changes nothing: one that waits is not heard again each time it is looked at."""
    error = _refusal(node, fetch.epoch)
    if error is ErrorCode.NONE and not 0 <= fetch.log_end.epoch <= fetch.epoch:
        error = ErrorCode.INVALID_REQUEST
    if error is not ErrorCode.NONE:
        return node.known.fetch_answer(error)
    found = look_up(fetch, node.replica.log, log_end=node.replica.end)
    return node.known.fetch_answer(
        high_watermark=node.high_watermark,
        diverging=found.diverging,
        snapshot=found.snapshot,
    )


def fetch_snapshot(node: RaftNode, fetch: FetchSnapshot, now: Ms) -> SnapshotAnswer:
    error = _refusal(node, fetch.epoch)
    if error is ErrorCode.NONE:
        assert isinstance(node.state, Leader)
        leadership.progress_of(node.state, fetch.replica).heard_at = now
    return node.known.snapshot_answer(error, fetch)


def _refusal(node: RaftNode, epoch: int) -> ErrorCode:
    """Why this node does not answer what only the leader of that epoch may."""
    if epoch < node.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > node.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE if node.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _is_me(node: RaftNode, voter: ReplicaKey | None) -> bool:
    """Whether a request that names its receiver means this node with this directory."""
    if voter is None or voter.id < 0:
        return True
    return voter.id == node.me.id and (
        not any(voter.directory) or voter.directory == node.me.directory
    )
