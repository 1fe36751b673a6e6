"""BeginQuorumEpoch (53), v0-1: a new leader of the quorum makes itself known.

v1  directory ids, and where the leader is (KIP-853)
"""

from __future__ import annotations

from klamm.protocol.messages.begin_quorum_epoch import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
)
from klamm.server.call import Call
from klamm.server.quorum.answers import begin_epoch_response
from klamm.server.quorum.requests import read_begin_epoch


def handle(request: BeginQuorumEpochRequest, call: Call) -> BeginQuorumEpochResponse:
    raft = call.context.quorum.raft
    return begin_epoch_response(raft.receive(read_begin_epoch(request, raft.terms)))
