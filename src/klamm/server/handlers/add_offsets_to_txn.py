"""AddOffsetsToTxn (25), v0-4: announce that a transaction will commit offsets of a group.

The group's partition of __consumer_offsets becomes part of the transaction. Clients of transaction.version 2 need not ask.
v2  PRODUCER_FENCED; before, INVALID_PRODUCER_EPOCH
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.coordinator.placement import partition_of
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from klamm.server.authorization.rights import READ_GROUP, WRITE_TRANSACTIONAL_ID
from klamm.server.call import Call, Message
from klamm.server.coordination.internal_topics import OFFSETS_TOPIC
from klamm.server.network.pending import Parked

_FIRST_WITH_FENCED = 2


def handle(request: AddOffsetsToTxnRequest, call: Call) -> Message | Parked:
    call.require(WRITE_TRANSACTIONAL_ID, request.transactional_id)
    call.require(READ_GROUP, request.group_id)
    # A client may ask before anybody has used a group, and so before the topic is there.
    topic = call.broker.image.topics_by_name.get(OFFSETS_TOPIC)
    count = (
        call.broker.settings.group.offsets_topic_num_partitions
        if topic is None
        else len(topic.partitions)
    )
    partition = TopicPartition(OFFSETS_TOPIC, partition_of(request.group_id, count))
    return call.broker.transactions.ask_each(
        [
            (
                request.transactional_id,
                lambda shard, token: shard.add_partitions(
                    request.transactional_id,
                    Producer(request.producer_id, request.producer_epoch),
                    [partition],
                    token,
                    client_version=0,
                    now=call.now,
                ),
            )
        ],
        request,
        call,
        lambda replies: _response(request, replies[0], call.version),
    )


def fail(request: AddOffsetsToTxnRequest, error: ApiError, version: int) -> AddOffsetsToTxnResponse:
    code = error.code
    if code is ErrorCode.PRODUCER_FENCED and version < _FIRST_WITH_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=code)


def _response(
    request: AddOffsetsToTxnRequest, reply: object, version: int
) -> AddOffsetsToTxnResponse:
    return (
        fail(request, reply, version) if isinstance(reply, ApiError) else AddOffsetsToTxnResponse()
    )
