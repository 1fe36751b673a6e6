"""Until when a node waits, by its role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from klamm.base.clock import Ms
from klamm.raft import leadership
from klamm.raft.roles import Follower, Leader, Resigned, Role, Unattached, Voting
from klamm.raft.timing import NEVER

if TYPE_CHECKING:
    from klamm.raft.node import RaftNode


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
