"""TxnOffsetCommit (28), v0-5: store how far a group has read, to count only if the transaction commits.

The group's partition of __consumer_offsets must be part of the transaction, as any partition that is written to.
v3  says which member commits: one of an old generation is refused (KIP-447)
v4  TRANSACTION_ABORTABLE
v5  the partition is added to the transaction by this request (KIP-890)
"""

from __future__ import annotations

from collections.abc import Awaitable

from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.shard import Verdicts
from klamm.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from klamm.replication.verification import Verification
from klamm.server.call import Call, Later, Message
from klamm.server.coordination.participation import client_of_version
from klamm.server.network.pending import Parked

_FIRST_THAT_ADDS = 5
# A coordinator's own records have none.
_NO_SEQUENCE = -1
_FIRST_WITH_LOADING = 2
# What a producer is told of a transaction's coordinator that cannot be asked: it tries again.
_AS_TOLD = {
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


def handle(request: TxnOffsetCommitRequest, call: Call) -> Message | Parked | Later:
    broker = call.broker
    if not any(_is_known(topic, call) for topic in request.topics):
        # There is nothing that could take part in a transaction.
        return _commit(request, call)
    client = client_of_version(call.version, adds_from=_FIRST_THAT_ADDS)
    partition = broker.groups.home_of(request.group_id)
    if not broker.participation.is_asked(client):
        if request.producer_id < 0:
            raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        partition.log.producers.check_epoch(request.producer_id, request.producer_epoch)
        return _commit(request, call)
    producer = Producer(request.producer_id, request.producer_epoch)
    verification = Verification(
        partition, producer.id, producer.epoch, _NO_SEQUENCE, bumps_epochs=False
    )
    if not verification.begin():
        return _commit(request, call)
    verdicts = broker.participation.ask(request.transactional_id, producer, [verification], client)
    if isinstance(verdicts, dict):
        return _verified(request, call, verification, verdicts)
    return _verified_later(request, call, verification, verdicts)


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


async def _verified_later(
    request: TxnOffsetCommitRequest,
    call: Call,
    verification: Verification,
    verdicts: Awaitable[Verdicts],
) -> Message | Parked:
    return _verified(request, call, verification, await verdicts)


def _verified(
    request: TxnOffsetCommitRequest, call: Call, verification: Verification, verdicts: Verdicts
) -> Message | Parked:
    try:
        if code := verdicts[verification.partition.name]:
            raise ApiError(_AS_TOLD.get(code, code))
        verification.check()
        return _commit(request, call)
    finally:
        verification.end()


def _commit(request: TxnOffsetCommitRequest, call: Call) -> Message | Parked:
    return call.broker.groups.ask(
        request.group_id,
        request,
        call,
        lambda shard, token: shard.offsets.commit_in_transaction(
            request, version=call.version, now=call.now, token=token
        ),
    )
