"""What a node has to say to others now, by its role, and until when it waits.

Whether it may speak (one question of a kind at a time) is Outgoing's affair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from klamm.base.clock import Ms
from klamm.raft import leadership
from klamm.raft.messages import (
    BeginEpoch,
    EndEpoch,
    Fetch,
    FetchSnapshot,
    Request,
    UpdateVoter,
    Vote,
)
from klamm.raft.roles import Follower, Leader, Resigned, Role, Unattached, Voting
from klamm.raft.timing import NEVER

if TYPE_CHECKING:
    from klamm.raft.node import RaftNode

Due = Iterator[tuple[int | None, Request]]


def due(node: RaftNode, now: Ms) -> Due:
    """Whom to ask, or None for anybody who may know the leader, and what."""
    match node.state:
        case Voting() as voting:
            yield from _votes(node, voting)
        case Leader() as leader:
            every = node.timing.begin_epoch
            for voter in node.voters.others(node.me.id):
                if leadership.begin_epoch_at(leader, voter, every) <= now:
                    yield voter.id, BeginEpoch(node.me.id, node.epoch, voter.key, node.address)
        case Follower() as follower:
            yield from _fetches(node, follower, now)
            if follower.has_fetched and now >= follower.tell_at and has_moved(node):
                assert node.address is not None
                yield follower.leader_id, UpdateVoter(node.me, node.epoch, node.address)
        case Unattached() if node.replica.is_flushed:
            # Whoever answers tells which epoch it is and who leads.
            yield None, Fetch(node.me, node.epoch, node.replica.end)
        case Resigned() as resigned:
            for node_id in sorted(resigned.unaware):
                yield node_id, EndEpoch(node.me.id, node.epoch, resigned.preferred, node.address)


def has_moved(node: RaftNode) -> bool:
    """Whether the log says of this voter that it is somewhere else."""
    own = node.voters.find(node.me.id)
    return (
        node.address is not None
        and own is not None
        and own.key == node.me
        and own.address != node.address
        and node.replica.history.records.is_dynamic
    )


def _votes(node: RaftNode, voting: Voting) -> Due:
    is_pre_vote = node.role is Role.PROSPECTIVE
    for voter in node.voters.others(node.me.id):
        if voter.id not in voting.granted | voting.rejected:
            yield (
                voter.id,
                Vote(node.me, node.epoch, node.replica.end, is_pre_vote, voter.key),
            )


def _fetches(node: RaftNode, follower: Follower, now: Ms) -> Due:
    """A fetch says what is on disk, so none is sent before that is all there is."""
    if follower.snapshot is not None:
        if follower.wants_piece:
            yield (
                follower.leader_id,
                FetchSnapshot(node.me, node.epoch, follower.snapshot, follower.position),
            )
    elif node.replica.is_flushed:
        fetch = Fetch(node.me, node.epoch, node.replica.end, node.high_watermark)
        yield follower.leader_id, fetch
        if now >= follower.timeout_at:
            # An observer never stands for election: it asks the others who leads now.
            yield None, fetch


def role_deadline(node: RaftNode) -> Ms:
    """When the role ends, unless something happens before."""
    match node.state:
        case Unattached(at) | Voting(at) | Resigned(at):
            deadline = at
        case Follower() as follower:
            # While a snapshot is whole and being loaded it is not the leader who keeps this node waiting.
            deadline = NEVER if follower.is_loading else follower.timeout_at
        case Leader() as leader:
            patience = node.timing.check_quorum
            lost = leadership.lost_majority_at(leader, node.me, node.voters, patience)
            return NEVER if lost is None else lost
    # Observers wait for ever: they have no vote.
    return deadline if node.is_voter or node.role is Role.RESIGNED else NEVER


def next_wake(node: RaftNode, now: Ms) -> Ms:
    at = role_deadline(node)
    match node.state:
        case Leader() as leader:
            every = node.timing.begin_epoch
            others = node.voters.others(node.me.id)
            due_at = [leadership.begin_epoch_at(leader, each, every) for each in others]
            # Who should have been told already cannot be now: an answer, or the end of a pause, comes first.
            return min([at, *(each for each in due_at if each > now)])
        case Follower() as follower if not node.is_voter and now < follower.timeout_at:
            return follower.timeout_at
    return at
