"""AddRaftVoter and RemoveRaftVoter at the leader of the quorum, whichever way they came to it."""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from klamm.protocol.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from klamm.raft.membership import with_added, with_removed
from klamm.raft.messages import ReplicaKey
from klamm.server.loops.raft_driver import RaftDriver
from klamm.server.quorum.requests import check_cluster, read_voter

# A request to remove one does not say how long it waits.
_TIMEOUT_MS = 30_000


async def add_voter(raft: RaftDriver, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
    check_cluster(request.cluster_id, raft.terms)
    voter = read_voter(request)
    if voter.id < 0 or raft.terms.listener not in dict(voter.endpoints):
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"A voter needs a number and an address of the listener {raft.terms.listener}.",
        )
    await raft.change_voters(
        lambda now: with_added(raft.raft, voter, now),
        max(1, request.timeout_ms) if request.ack_when_committed else None,
    )
    return AddRaftVoterResponse(error_message=None)


async def remove_voter(
    raft: RaftDriver, request: RemoveRaftVoterRequest
) -> RemoveRaftVoterResponse:
    check_cluster(request.cluster_id, raft.terms)
    key = ReplicaKey(request.voter_id, request.voter_directory_id)
    await raft.change_voters(lambda _: with_removed(raft.raft, key), _TIMEOUT_MS)
    return RemoveRaftVoterResponse(error_message=None)
