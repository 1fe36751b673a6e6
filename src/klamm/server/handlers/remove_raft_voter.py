"""RemoveRaftVoter (81), v0: a voter of the quorum is one no more (KIP-853). A leader that is removed resigns then."""

from __future__ import annotations

from klamm.protocol.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from klamm.raft.membership import with_removed
from klamm.raft.messages import ReplicaKey
from klamm.server.call import Call
from klamm.server.quorum.requests import check_cluster

# The request does not say how long it waits.
_TIMEOUT_MS = 30_000


async def handle(request: RemoveRaftVoterRequest, call: Call) -> RemoveRaftVoterResponse:
    raft = call.context.quorum.raft
    if not raft.raft.is_leader and not call.connection.listener.is_controller:
        forwarded: RemoveRaftVoterResponse = await call.forward(request)
        return forwarded
    check_cluster(request.cluster_id, raft.terms)
    key = ReplicaKey(request.voter_id, request.voter_directory_id)
    await raft.change_voters(lambda _: with_removed(raft.raft, key), _TIMEOUT_MS)
    return RemoveRaftVoterResponse(error_message=None)
