"""AddRaftVoter (80), v0-1: a controller that has caught up with the log becomes a voter of the quorum (KIP-853).

v1  whether the answer waits until the change is committed
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from klamm.raft.membership import with_added
from klamm.server.call import Call
from klamm.server.quorum.requests import check_cluster, read_voter


async def handle(request: AddRaftVoterRequest, call: Call) -> AddRaftVoterResponse:
    raft = call.context.quorum.raft
    if not raft.raft.is_leader and not call.connection.listener.is_controller:
        forwarded: AddRaftVoterResponse = await call.forward(request)
        return forwarded
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
