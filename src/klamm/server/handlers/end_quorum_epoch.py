"""EndQuorumEpoch (54), v0-1: the leader of the quorum goes, and says who should stand next.

v1  directory ids, and where the leader is (KIP-853)
"""

from __future__ import annotations

from klamm.protocol.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from klamm.server.call import Call
from klamm.server.quorum.answers import end_epoch_response
from klamm.server.quorum.requests import read_end_epoch


def handle(request: EndQuorumEpochRequest, call: Call) -> EndQuorumEpochResponse:
    raft = call.context.quorum.raft
    return end_epoch_response(raft.receive(read_end_epoch(request, raft.terms)))
