"""DescribeTransactions (65), v0: the state of transactional ids, and the partitions of what they have open."""

from __future__ import annotations

from itertools import groupby

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.token import Token
from klamm.coordinator.shard import Outcome, Reply
from klamm.coordinator.transaction.shard import TransactionShard
from klamm.coordinator.transaction.transaction import Transaction
from klamm.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from klamm.server.authorization.rights import DESCRIBE_TOPIC, DESCRIBE_TRANSACTIONAL_ID
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked


def handle(request: DescribeTransactionsRequest, call: Call) -> Message | Parked:
    denied = call.denied(DESCRIBE_TRANSACTIONAL_ID, request.transactional_ids)
    names = [name for name in request.transactional_ids if name not in denied]
    refused = [
        TransactionState(transactional_id=name, error_code=DESCRIBE_TRANSACTIONAL_ID.error)
        for name in request.transactional_ids
        if name in denied
    ]
    return call.broker.transactions.ask_each(
        [
            (name, lambda shard, token, name=name: _find(shard, token, name))  # type: ignore[misc]
            for name in names
        ],
        request,
        call,
        lambda replies: DescribeTransactionsResponse(
            transaction_states=[
                *(_state(name, reply, call) for name, reply in zip(names, replies, strict=True)),
                *refused,
            ]
        ),
        is_read=True,
    )


def _find(shard: TransactionShard, token: Token, transactional_id: str) -> Outcome:
    if not transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    found = shard.transactions.get(transactional_id)
    if found is None:
        raise ApiError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return Outcome(replies=[(token, found)])


def _state(transactional_id: str, reply: Reply, call: Call) -> TransactionState:
    if isinstance(reply, ApiError):
        return TransactionState(transactional_id=transactional_id, error_code=reply.code)
    assert isinstance(reply, Transaction)
    hidden = call.denied(DESCRIBE_TOPIC, (each.topic for each in reply.partitions), quietly=True)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=reply.state.label,
        transaction_timeout_ms=reply.timeout_ms,
        transaction_start_time_ms=reply.start_ms,
        producer_id=reply.producer_id,
        producer_epoch=reply.producer_epoch,
        topics=[
            TopicData(topic=topic, partitions=[each.partition for each in group])
            for topic, group in groupby(sorted(reply.partitions), key=lambda each: each.topic)
            if topic not in hidden
        ],
    )
