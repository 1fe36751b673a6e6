"""AddRaftVoter (80), v0-1: a controller that has caught up with the log becomes a voter of the quorum (KIP-853).

v1  whether the answer waits until the change is committed
"""

from __future__ import annotations

from klamm.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.call import Call
from klamm.server.quorum.voter_changes import add_voter


async def handle(request: AddRaftVoterRequest, call: Call) -> AddRaftVoterResponse:
    call.require(ALTER_CLUSTER)
    raft = call.context.quorum.raft
    if not raft.raft.is_leader and not call.connection.listener.is_controller:
        forwarded: AddRaftVoterResponse = await call.forward(request)
        return forwarded
    return await add_voter(raft, request)
