"""Vote (52), v0-2: a node of the quorum asks for a vote. It is on disk before it is answered.

v1  directory ids (KIP-853)
v2  pre-votes, which bind nobody (KIP-996)
"""

from __future__ import annotations

from klamm.protocol.messages.vote import VoteRequest, VoteResponse
from klamm.raft.messages import VoteAnswer
from klamm.server.call import Call
from klamm.server.quorum.answers import vote_response
from klamm.server.quorum.requests import read_vote


def handle(request: VoteRequest, call: Call) -> VoteResponse:
    raft = call.context.quorum.raft
    answer = raft.receive(read_vote(request, raft.terms))
    assert isinstance(answer, VoteAnswer)
    return vote_response(answer)
