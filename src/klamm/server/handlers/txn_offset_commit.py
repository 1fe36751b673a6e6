"""TxnOffsetCommit (28), v0-5: store how far a group has read, to count only if the transaction commits.

The group's partition of __consumer_offsets must be part of the transaction, as any partition that is written to.
v3  says which member commits: one of an old generation is refused (KIP-447)
v4  TRANSACTION_ABORTABLE
v5  the partition is added to the transaction by this request (KIP-890)
"""

from __future__ import annotations

from types import GeneratorType

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.token import Token
from klamm.coordinator.group.shard import GroupShard
from klamm.coordinator.shard import Outcome, Producer, Reply
from klamm.protocol.declare import altered
from klamm.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from klamm.server.authorization.rights import READ_GROUP, READ_TOPIC, WRITE_TRANSACTIONAL_ID
from klamm.server.call import Call, Later, Message
from klamm.server.network.pending import Parked
from klamm.server.verification.offset_commit import verify_offset_commit
from klamm.server.verification.verifier import client_of_version

_FIRST_THAT_ADDS = 5
_FIRST_WITH_LOADING = 2


def handle(request: TxnOffsetCommitRequest, call: Call) -> Message | Parked | Later:
    call.require(WRITE_TRANSACTIONAL_ID, request.transactional_id)
    call.require(READ_GROUP, request.group_id)
    denied = call.denied(READ_TOPIC, (topic.name for topic in request.topics))
    refused = TxnOffsetCommitResponse()
    if denied:
        topics = [topic for topic in request.topics if topic.name in denied]
        refused = fail(altered(request, topics=topics), ApiError(READ_TOPIC.error), call.version)
        request.topics = [topic for topic in request.topics if topic.name not in denied]
        if not request.topics:
            return refused
    if not any(_is_known(topic, call) for topic in request.topics):
        # There is nothing that could take part in a transaction.
        return _commit(request, call, refused)
    return verify_offset_commit(
        call.broker.verifier,
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        call.broker.groups.home_of(request.group_id),
        client_of_version(call.version, adds_from=_FIRST_THAT_ADDS),
        lambda: _commit(request, call, refused),
    )


def fail(request: TxnOffsetCommitRequest, error: ApiError, version: int) -> TxnOffsetCommitResponse:
    code = error.code
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _FIRST_WITH_LOADING:
        # Clients of that time fail when they hear of it.
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=code
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _is_known(topic: TxnOffsetCommitRequestTopic, call: Call) -> bool:
    known = call.broker.image.topics_by_name.get(topic.name)
    return known is not None and any(
        0 <= each.partition_index < len(known.partitions) for each in topic.partitions
    )


def _commit(
    request: TxnOffsetCommitRequest, call: Call, refused: TxnOffsetCommitResponse
) -> Message | Parked:
    def commit(shard: GroupShard, token: Token) -> Outcome:
        return shard.offsets.commit_in_transaction(
            request, version=call.version, now=call.now, token=token
        )

    def join(replies: list[Reply]) -> TxnOffsetCommitResponse:
        (reply,) = replies
        answer = fail(request, reply, call.version) if isinstance(reply, ApiError) else reply
        assert isinstance(answer, TxnOffsetCommitResponse)
        answer.topics += refused.topics
        return answer

    groups = call.broker.groups
    if not refused.topics:
        return groups.ask(request.group_id, request, call, commit)
    answer = groups.ask_each([(request.group_id, commit)], request, call, join)
    assert not isinstance(answer, GeneratorType), "one question is asked at once"
    return answer
