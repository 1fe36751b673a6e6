"""TxnOffsetCommit (28), v0-5: store how far a group has read, to count only if the transaction commits.

The group's partition of __consumer_offsets must be part of the transaction, as any partition that is written to.
v3  says which member commits: one of an old generation is refused (KIP-447)
v4  TRANSACTION_ABORTABLE
v5  the partition is added to the transaction by this request (KIP-890)
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from klamm.server.call import Call, Later, Message
from klamm.server.network.pending import Parked
from klamm.server.verification.offset_commit import verify_offset_commit
from klamm.server.verification.verifier import client_of_version

_FIRST_THAT_ADDS = 5
_FIRST_WITH_LOADING = 2


def handle(request: TxnOffsetCommitRequest, call: Call) -> Message | Parked | Later:
    if not any(_is_known(topic, call) for topic in request.topics):
        # There is nothing that could take part in a transaction.
        return _commit(request, call)
    return verify_offset_commit(
        call.broker.verifier,
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        call.broker.groups.home_of(request.group_id),
        client_of_version(call.version, adds_from=_FIRST_THAT_ADDS),
        lambda: _commit(request, call),
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


def _commit(request: TxnOffsetCommitRequest, call: Call) -> Message | Parked:
    return call.broker.groups.ask(
        request.group_id,
        request,
        call,
        lambda shard, token: shard.offsets.commit_in_transaction(
            request, version=call.version, now=call.now, token=token
        ),
    )
