"""AddPartitionsToTxn (24), v0-5: make partitions part of a transaction.

Clients send v0-3, about one transaction. v4 and v5 come from brokers, about many, and may only ask whether the partitions
are part of it. If one partition of a transaction does not exist, none is added.
v2  PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH
v5  the broker asks for a client of transaction.version 2, which does not announce its partitions itself
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.base.token import Token
from klamm.coordinator.shard import Outcome, Producer, Reply
from klamm.coordinator.transaction.shard import TransactionShard
from klamm.metadata.features import BUMPS_EPOCHS
from klamm.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from klamm.server.authorization.rights import CLUSTER_ACTION, WRITE_TOPIC, WRITE_TRANSACTIONAL_ID
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked

_FIRST_WITH_FENCED = 2
_FIRST_OF_BROKERS = 4
_FIRST_THAT_BUMPS = 5


def handle(request: AddPartitionsToTxnRequest, call: Call) -> Message | Parked:
    transactions = _transactions(request, call.version)
    denied: Collection[str] = ()
    if call.version >= _FIRST_OF_BROKERS:
        call.require(CLUSTER_ACTION)
    else:
        call.require(WRITE_TRANSACTIONAL_ID, request.v3_and_below_transactional_id)
        topics = (topic.name for topic in request.v3_and_below_topics)
        denied = call.denied(WRITE_TOPIC, topics)
    return call.broker.transactions.ask_each(
        [
            (
                each.transactional_id,
                lambda shard, token, each=each: _decide(shard, token, each, denied, call),  # type: ignore[misc]
            )
            for each in transactions
        ],
        request,
        call,
        lambda replies: _response(transactions, replies, call.version),
        is_read=all(each.verify_only for each in transactions),
    )


def fail(
    request: AddPartitionsToTxnRequest, error: ApiError, version: int
) -> AddPartitionsToTxnResponse:
    if version >= _FIRST_OF_BROKERS:
        return AddPartitionsToTxnResponse(error_code=error.code)
    transactions = _transactions(request, version)
    return _response(transactions, [error] * len(transactions), version)


def _transactions(
    request: AddPartitionsToTxnRequest, version: int
) -> list[AddPartitionsToTxnTransaction]:
    if version >= _FIRST_OF_BROKERS:
        return request.transactions
    return [
        AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
    ]


def _decide(
    shard: TransactionShard,
    token: Token,
    asked: AddPartitionsToTxnTransaction,
    denied: Collection[str],
    call: Call,
) -> Outcome:
    partitions = _partitions(asked)
    verdicts = {each: _verdict(each, denied, call) for each in partitions}
    if any(code is not ErrorCode.OPERATION_NOT_ATTEMPTED for code in verdicts.values()):
        return Outcome(replies=[(token, verdicts)])
    producer = Producer(asked.producer_id, asked.producer_epoch)
    if asked.verify_only:
        return shard.verify_partitions(asked.transactional_id, producer, partitions, token)
    return shard.add_partitions(
        asked.transactional_id,
        producer,
        partitions,
        token,
        client_version=BUMPS_EPOCHS if call.version >= _FIRST_THAT_BUMPS else 0,
        now=call.now,
    )


def _verdict(partition: TopicPartition, denied: Collection[str], call: Call) -> ErrorCode:
    """About one that is well: what it hears if another is not."""
    if partition.topic in denied:
        return WRITE_TOPIC.error
    if call.broker.image.partition(*partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.OPERATION_NOT_ATTEMPTED


def _partitions(asked: AddPartitionsToTxnTransaction) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, index) for topic in asked.topics for index in topic.partitions
    ]


def _response(
    transactions: list[AddPartitionsToTxnTransaction], replies: list[Reply], version: int
) -> AddPartitionsToTxnResponse:
    results = [
        AddPartitionsToTxnResult(
            transactional_id=asked.transactional_id, topic_results=_topics(asked, reply, version)
        )
        for asked, reply in zip(transactions, replies, strict=True)
    ]
    if version >= _FIRST_OF_BROKERS:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)


def _topics(
    asked: AddPartitionsToTxnTransaction, reply: Reply, version: int
) -> list[AddPartitionsToTxnTopicResult]:
    verdicts: Mapping[TopicPartition, ErrorCode]
    if isinstance(reply, ApiError):
        code = reply.code
        if code is ErrorCode.PRODUCER_FENCED and version < _FIRST_WITH_FENCED:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        verdicts = dict.fromkeys(_partitions(asked), code)
    else:
        assert isinstance(reply, dict)
        verdicts = reply
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index,
                    partition_error_code=verdicts[TopicPartition(topic.name, index)],
                )
                for index in topic.partitions
            ],
        )
        for topic in asked.topics
    ]
