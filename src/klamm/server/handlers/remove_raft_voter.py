"""RemoveRaftVoter (81), v0: a voter of the quorum is one no more (KIP-853). A leader that is removed resigns then."""

from __future__ import annotations

from klamm.protocol.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.call import Call
from klamm.server.quorum.voter_changes import remove_voter


async def handle(request: RemoveRaftVoterRequest, call: Call) -> RemoveRaftVoterResponse:
    call.require(ALTER_CLUSTER)
    raft = call.context.quorum.raft
    if not raft.raft.is_leader and not call.connection.listener.is_controller:
        forwarded: RemoveRaftVoterResponse = await call.forward(request)
        return forwarded
    return await remove_voter(raft, request)
