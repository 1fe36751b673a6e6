"""UpdateRaftVoter (82), v0: a voter tells the leader where it is now and which versions it understands (KIP-853).

Java's voters say so whenever they find a leader, those of a static quorum too, whose log has no place for it.
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.update_raft_voter import (
    CurrentLeader,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from klamm.raft.membership import with_updated
from klamm.server.call import Call
from klamm.server.quorum.requests import check_cluster, read_voter

_TIMEOUT_MS = 30_000


async def handle(request: UpdateRaftVoterRequest, call: Call) -> UpdateRaftVoterResponse:
    raft = call.context.quorum.raft
    check_cluster(request.cluster_id, raft.terms)
    error = ErrorCode.NONE
    try:
        await _update(request, call)
    except ApiError as e:
        error = e.code
    known = raft.raft.known
    leader = CurrentLeader(leader_epoch=known.number)
    if known.leader_id is not None:
        leader.leader_id = known.leader_id
    if known.leader_address is not None:
        leader.host, leader.port = known.leader_address
    return UpdateRaftVoterResponse(error_code=error, current_leader=leader)


async def _update(request: UpdateRaftVoterRequest, call: Call) -> None:
    raft = call.context.quorum.raft
    if request.current_leader_epoch < raft.raft.epoch:
        raise ApiError(ErrorCode.FENCED_LEADER_EPOCH)
    if request.current_leader_epoch > raft.raft.epoch:
        raise ApiError(ErrorCode.UNKNOWN_LEADER_EPOCH)
    if not raft.raft.is_leader:
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    voter = read_voter(request, request.kraft_version_feature)
    if raft.terms.listener not in dict(voter.endpoints):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    if not raft.raft.replica.history.records.is_dynamic:
        return
    if raft.raft.voters.find(voter.id) != voter:
        await raft.change_voters(lambda _: with_updated(raft.raft, voter), _TIMEOUT_MS)
