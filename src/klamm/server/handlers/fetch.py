"""Fetch (1), v4-18: read record batches from many partitions, and wait for them if there are too few.

The record bytes go from the segment to the socket as they are; nobody parses them here.
v5   log start offset in the answer
v7   sessions (KIP-227): see replication/fetch_sessions.py
v9   leader epoch of the client is checked (KIP-320)
v11  rack of the client (KIP-392): it may be told of a replica that is nearer
v12  last fetched epoch: a client whose log went another way is told where (diverging epoch)
v13  topics by id (KIP-516)
v15  a follower names its broker epoch (KIP-903)
v16  who leads instead, with the refusal (KIP-951)
A follower's fetch reads up to the end of the log, and tells how far the follower is: see fetch/replica_fetch.py.
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.fetch import FetchRequest
from klamm.replication.fetch_sessions import FetchContext, FetchPartition
from klamm.replication.partition import Isolation
from klamm.server.authorization.rights import CLUSTER_ACTION
from klamm.server.call import Call, EncodedBody, LongBody, Steps
from klamm.server.fetch.delayed_fetch import DelayedFetch, encode_results
from klamm.server.fetch.fetch_response import FetchResult, encode_fetch_response
from klamm.server.fetch.replica_fetch import ReplicaFetch, backlog_of
from klamm.server.network.pending import PARKED, Parked

_FIRST_WITH_TOPIC_IDS = 13
_FIRST_WITH_STATE = 15


def handle(request: FetchRequest, call: Call) -> EncodedBody | LongBody | Parked | Steps:
    broker = call.broker
    if request.isolation_level not in (Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    replica = request.replica_state
    replica_id = replica.replica_id if call.version >= _FIRST_WITH_STATE else request.replica_id
    asked = _asked(request)
    forgotten = [
        (t.topic or t.topic_id, p) for t in request.forgotten_topics_data for p in t.partitions
    ]
    try:
        context = broker.fetch_sessions.begin(
            request.session_id,
            request.session_epoch if call.version >= 7 else -1,
            asked,
            forgotten,
            uses_ids=call.version >= _FIRST_WITH_TOPIC_IDS,
            now=call.now.monotonic,
            is_replica=replica_id >= 0,
        )
    except ApiError as e:
        return encode_fetch_response(call.version, error=e.code, session_id=0, results=())
    if replica_id >= 0:
        if not call.may(CLUSTER_ACTION):
            return _denied(context, call)
        # Nodes of the cluster have no quota as clients.
        call.quota = None
        backlog = backlog_of(broker, context, replica_id, asked, forgotten)
        backlog.fetched_at = call.now.monotonic
        fetch = ReplicaFetch(call, context, request, backlog, replica.replica_epoch)
        return fetch.begin(request.max_wait_ms)
    fetching = DelayedFetch(call, context, request)
    if fetching.has_many:
        return _in_steps(fetching, request, call)
    return _answer_or_park(fetching, fetching.is_ready(), request, call)


def _in_steps(fetching: DelayedFetch, request: FetchRequest, call: Call) -> Steps:
    is_ready = yield from fetching.reading()
    return _answer_or_park(fetching, is_ready, request, call)


def _answer_or_park(
    fetching: DelayedFetch, is_ready: bool, request: FetchRequest, call: Call
) -> EncodedBody | LongBody | Parked:
    if is_ready or request.max_wait_ms <= 0:
        return fetching.answer()
    # Short of memory, nobody may wait: the answer is empty, and the client asks again.
    if not call.connection.may_park(fetching.cost):
        return fetching.answer()
    call.broker.waiting.park_fetch(fetching, call.now.monotonic + request.max_wait_ms)
    call.connection.on_lost = fetching.abandon
    return PARKED


def _denied(context: FetchContext, call: Call) -> EncodedBody | LongBody:
    """Whoever says to be a replica sees what is not committed, and moves the high watermark: only brokers may."""
    results = [
        FetchResult(asked, ErrorCode.TOPIC_AUTHORIZATION_FAILED, aborted=[])
        for asked in context.partitions
    ]
    return encode_results(call, context.session_id, results)


def fail(request: FetchRequest, error: ApiError, version: int) -> EncodedBody:
    return encode_fetch_response(version, error=error.code, session_id=0, results=())


def _asked(request: FetchRequest) -> list[FetchPartition]:
    asked = []
    for topic in request.topics:
        for p in topic.partitions:
            partition = FetchPartition(topic.topic, topic.topic_id, p.partition)
            partition.ask(
                offset=p.fetch_offset,
                max_bytes=p.partition_max_bytes,
                leader_epoch=p.current_leader_epoch,
                last_fetched_epoch=p.last_fetched_epoch,
                log_start=p.log_start_offset,
            )
            asked.append(partition)
    return asked
