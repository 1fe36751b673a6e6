"""What a leader of the quorum works out from what it knows of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from klamm.base.clock import Ms
from klamm.protocol.messages.control import LeaderChangeMessage, LeaderChangeMessageVoter
from klamm.raft import rules
from klamm.raft.messages import ReplicaKey
from klamm.raft.roles import Leader, Progress
from klamm.raft.voters import Voter, VoterSet


def leader_change(me: ReplicaKey, voters: VoterSet, granting: Iterable[int]) -> LeaderChangeMessage:
    """Opens the epoch. Nothing of earlier epochs counts as committed before this record is."""
    return LeaderChangeMessage(
        leader_id=me.id,
        voters=[LeaderChangeMessageVoter(voter_id=each) for each in sorted(voters.ids)],
        granting_voters=[LeaderChangeMessageVoter(voter_id=each) for each in sorted(granting)],
    )


def progress_of(leader: Leader, key: ReplicaKey) -> Progress:
    found = leader.progress.get(key)
    if found is None:
        found = leader.progress[key] = Progress(key)
    return found


def progress_of_voter(leader: Leader, voter: Voter) -> Progress | None:
    """Of a voter whose directory the settings do not tell, that of whoever fetched with its id last."""
    if voter.key in leader.progress:
        return leader.progress[voter.key]
    if any(voter.directory):
        return None
    found = [each for each in leader.progress.values() if each.key.id == voter.id]
    return max(found, key=lambda each: each.heard_at or 0, default=None)


def high_watermark(leader: Leader, me: ReplicaKey, voters: VoterSet, *, current: int) -> int:
    ends = {}
    for voter in voters.voters:
        if voter.id == me.id:
            ends[voter.id] = leader.flushed
        else:
            progress = progress_of_voter(leader, voter)
            ends[voter.id] = progress.end_offset if progress else -1
    return rules.high_watermark(ends, epoch_start=leader.epoch_start, current=current)


def lost_majority_at(leader: Leader, me: ReplicaKey, voters: VoterSet, patience: Ms) -> Ms | None:
    """When too few voters will have been heard for a majority, unless they are heard again; None if never."""
    others = voters.others(me.id)
    # So many others make a majority, with this node if it is a voter itself.
    needed = rules.majority(len(voters.ids)) - (me.id in voters.ids)
    if needed <= 0:
        return None
    heard = sorted((_heard_at(leader, each) for each in others), reverse=True)
    return heard[needed - 1] + patience


def _heard_at(leader: Leader, voter: Voter) -> Ms:
    progress = progress_of_voter(leader, voter)
    return leader.since if progress is None or progress.heard_at is None else progress.heard_at


def begin_epoch_at(leader: Leader, voter: Voter, every: Ms) -> Ms:
    """When a voter must be told who leads: at once, and again whenever it has not been heard for a while."""
    told = leader.begun_at.get(voter.id)
    if told is None:
        return leader.since
    progress = progress_of_voter(leader, voter)
    heard = progress.heard_at if progress and progress.heard_at is not None else told
    return max(told, heard) + every


def successors(leader: Leader, voters: Sequence[Voter]) -> tuple[ReplicaKey, ...]:
    """Who should stand next: who has most of the log."""

    def end(voter: Voter) -> int:
        progress = progress_of_voter(leader, voter)
        return progress.end_offset if progress else -1

    return tuple(each.key for each in sorted(voters, key=lambda each: (-end(each), each.id)))
