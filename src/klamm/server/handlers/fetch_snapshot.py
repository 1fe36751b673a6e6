"""FetchSnapshot (59), v0-1: a piece of a snapshot of the metadata log, for a node whose log ends below its start.

v1  directory ids, and where the leader is (KIP-853)
"""

from __future__ import annotations

from klamm.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from klamm.server.call import Call
from klamm.server.quorum.answers import snapshot_response
from klamm.server.quorum.requests import read_fetch_snapshot

# However much is asked for: the piece stands in memory until it is sent.
_MAX_BYTES = 8 << 20


def handle(request: FetchSnapshotRequest, call: Call) -> FetchSnapshotResponse:
    raft = call.context.quorum.raft
    fetch = read_fetch_snapshot(request, raft.terms)
    max_bytes = min(max(1, request.max_bytes), _MAX_BYTES)
    return snapshot_response(raft.fetch_snapshot(fetch, max_bytes=max_bytes))
