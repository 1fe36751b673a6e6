"""Produce (0), v3-13: append a batch to each of many partitions.

Nearly all requests never get here: server/straight_produce.py answers the common ones. This handler knows every case.
v9   flexible
v12  transactions without AddPartitionsToTxn (KIP-890)
v13  topics by id (KIP-516)
acks=0 has no answer: an error closes the connection, which is all the client can be told.
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from klamm.protocol.records.batch import ATTRIBUTES_AT, TRANSACTIONAL
from klamm.replication.partition import Partition
from klamm.server.call import Call
from klamm.server.network.connection import PARKED, Parked

_FIRST_WITH_TOPIC_IDS = 13
_VALID_ACKS = (-1, 0, 1)


def handle(request: ProduceRequest, call: Call) -> ProduceResponse | Parked | None:
    response = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    _append(request, topic, p, call) for p in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )
    if request.acks == 0:
        if any(p.error_code for topic in response.responses for p in topic.partition_responses):
            call.connection.close()
        return None
    unflushed = _unflushed(request, call)
    if unflushed:
        call.broker.after_flush(unflushed, lambda: call.finish(response))
        return PARKED
    return response


def _append(
    request: ProduceRequest, topic: TopicProduceData, data: PartitionProduceData, call: Call
) -> PartitionProduceResponse:
    try:
        if request.acks not in _VALID_ACKS:
            raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS)
        partition = _find(topic, data.index, call)
        records = _checked(data)
        appended = partition.append(records, acks=request.acks, now=call.now)
    except ApiError as e:
        # Kafka words only what the client cannot guess from the code.
        message = e.message if e.code in _WORDED else None
        return PartitionProduceResponse(
            index=data.index,
            error_code=e.code,
            base_offset=-1,
            log_start_offset=-1,
            error_message=message,
        )
    call.broker.appended(partition)
    return PartitionProduceResponse(
        index=data.index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.append_time,
        log_start_offset=partition.log.start_offset,
    )


_WORDED = (
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.INVALID_TXN_STATE,
)


def _checked(data: PartitionProduceData) -> memoryview:
    records = data.records
    if records is None or len(records) == 0:
        raise ApiError(ErrorCode.INVALID_RECORD, "the request carries no batch for this partition")
    view = memoryview(records)
    if len(view) > ATTRIBUTES_AT + 1 and view[ATTRIBUTES_AT + 1] & TRANSACTIONAL:
        raise ApiError(ErrorCode.INVALID_TXN_STATE, "this broker does not serve transactions yet")
    return view


def _find(topic: TopicProduceData, index: int, call: Call) -> Partition:
    name = topic.name
    if call.version >= _FIRST_WITH_TOPIC_IDS:
        known = call.broker.image.topics_by_id.get(topic.topic_id)
        if known is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        name = known.name
    partition = call.broker.replicas.find(name, index)
    if partition is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return partition


def _unflushed(request: ProduceRequest, call: Call) -> list[Partition]:
    """The partitions of this request whose acknowledgement must wait for the disk (flush.messages)."""
    found = []
    for topic in request.topic_data:
        for data in topic.partition_data:
            try:
                partition = _find(topic, data.index, call)
            except ApiError:
                continue
            if call.broker.acknowledges_after_flush(partition):
                found.append(partition)
    return found
