"""Fetch (1), v4-18, as a controller's listener serves it: the metadata log alone, for those who replicate it.

v12  last fetched epoch: a log that went another way is told where; by the topic's name
v13  by the topic's id
v16  where the leader is
v17  directory ids (KIP-853)
v18  what the fetcher knows to be committed: it is woken when more is (KIP-1166)
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.fetch import FetchRequest, FetchResponse
from klamm.raft.messages import FetchAnswer
from klamm.server.authorization.rights import CLUSTER_ACTION
from klamm.server.call import Call
from klamm.server.network.pending import PARKED, Parked
from klamm.server.quorum.answers import fetch_response
from klamm.server.quorum.requests import read_fetch

# However much is asked for: the records stand in memory until they are sent.
_MAX_BYTES = 8 << 20


def handle(request: FetchRequest, call: Call) -> FetchResponse | Parked:
    call.require(CLUSTER_ACTION)
    raft = call.context.quorum.raft
    fetch = read_fetch(request, raft.terms, call.version)
    if request.max_wait_ms < 0 or fetch.log_end.offset < 0:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    asked = min(request.max_bytes, request.topics[0].partitions[0].partition_max_bytes)

    def respond(answer: FetchAnswer) -> FetchResponse:
        return fetch_response(answer, log_start=raft.log_start)

    found = raft.fetch(
        fetch,
        max_bytes=min(max(1, asked), _MAX_BYTES),
        wait_ms=request.max_wait_ms,
        reply=lambda answer: call.finish(respond(answer)),
    )
    if isinstance(found, FetchAnswer):
        return respond(found)
    call.connection.on_lost = lambda: raft.abandon(found)
    return PARKED


def fail(request: FetchRequest, error: ApiError, version: int) -> FetchResponse:
    return FetchResponse(error_code=error.code)
