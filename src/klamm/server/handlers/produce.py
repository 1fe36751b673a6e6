"""Produce (0), v3-13: append a batch to each of many partitions.

Nearly all requests never get here: server/straight/produce.py answers the common ones. This handler knows every case.
v7   zstd (KIP-110)
v9   flexible
v10  who leads instead, with the refusal (KIP-951)
v11  TRANSACTION_ABORTABLE
v12  transactions without AddPartitionsToTxn (KIP-890)
v13  topics by id (KIP-516)
acks=0 has no answer: an error closes the connection, which is all the client can be told.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Iterator, Mapping
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.log.log import Log
from klamm.log.validation.of_clients import NotABatch, RejectedRecords
from klamm.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from klamm.protocol.records.batch import ATTRIBUTES_AT, CODEC_MASK, Codec
from klamm.replication.partition import ACKS_ALL, Partition
from klamm.server.authorization.rights import WRITE_TOPIC, WRITE_TRANSACTIONAL_ID
from klamm.server.call import Call, Later, Steps
from klamm.server.coordination.internal_topics import INTERNAL_TOPICS
from klamm.server.network.pending import PARKED, Parked
from klamm.server.replication.delayed_produce import HandledProduce, Uncommitted, told
from klamm.server.verification.batch import is_transactional
from klamm.server.verification.produce import ProduceVerification, RefusedInWords
from klamm.server.verification.verifier import client_of_version

if TYPE_CHECKING:
    from klamm.coordinator.transaction.shard import Verdicts

logger = logging.getLogger(__name__)

_FIRST_WITH_ZSTD = 7
_FIRST_THAT_ADDS = 12
_FIRST_WITH_TOPIC_IDS = 13
# A client of this name may write to the coordinators' topics: that is how Kafka's tools repair them.
_ADMIN = "__admin_client"
_VALID_ACKS = (-1, 0, 1)
# From so many partitions on a request is answered in turns.
_MANY = 500
# About what a produce that waits takes in memory.
_PARKED_COST = 1024


def handle(request: ProduceRequest, call: Call) -> ProduceResponse | Parked | Steps | Later | None:
    if call.broker.authorization is not None:
        # Once for each topic, however often it is looked for: this notes who was denied what.
        call.denied(WRITE_TOPIC, _names(request, call))
    if not any(
        is_transactional(p.records) for topic in request.topic_data for p in topic.partition_data
    ):
        return _answer(request, call, None)
    if request.transactional_id is not None:
        call.require(WRITE_TRANSACTIONAL_ID, request.transactional_id)
    verification = ProduceVerification()
    client = client_of_version(call.version, adds_from=_FIRST_THAT_ADDS)
    verdicts = verification.ask(
        call.broker.verifier, request.transactional_id, client, _transactional(request, call)
    )
    if not isinstance(verdicts, dict):
        _copy_batches(request)
        return _answer_later(request, call, verification, verdicts)
    verification.take(verdicts)
    return _answer(request, call, verification)


def fail(request: ProduceRequest, error: ApiError, version: int) -> ProduceResponse | None:
    if request.acks == 0:
        return None
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[refusal(p.index, error, None) for p in topic.partition_data],
            )
            for topic in request.topic_data
        ]
    )


def _names(request: ProduceRequest, call: Call) -> Iterator[str]:
    if call.version < _FIRST_WITH_TOPIC_IDS:
        return (topic.name for topic in request.topic_data)
    known = call.broker.image.topics_by_id
    found = (known.get(topic.topic_id) for topic in request.topic_data)
    return (topic.name for topic in found if topic is not None)


async def _answer_later(
    request: ProduceRequest,
    call: Call,
    verification: ProduceVerification,
    verdicts: Awaitable[Verdicts],
) -> ProduceResponse | Parked | Steps | None:
    verification.take(await verdicts)
    return _answer(request, call, verification)


def _answer(
    request: ProduceRequest, call: Call, verification: ProduceVerification | None
) -> ProduceResponse | Parked | Steps | None:
    if sum(len(topic.partition_data) for topic in request.topic_data) > _MANY:
        return _in_steps(request, call, verification)
    uncommitted: list[Uncommitted] = []
    try:
        response = ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partition_responses=[
                        _append(request, topic, p, call, verification, uncommitted)
                        for p in topic.partition_data
                    ],
                )
                for topic in request.topic_data
                if topic.partition_data
            ]
        )
    finally:
        if verification is not None:
            verification.close()
    return _acknowledge(request, response, uncommitted, call)


def _in_steps(
    request: ProduceRequest, call: Call, verification: ProduceVerification | None
) -> Steps:
    """The same for very many partitions."""
    _copy_batches(request)
    response = ProduceResponse()
    uncommitted: list[Uncommitted] = []
    try:
        for topic in request.topic_data:
            if topic.partition_data:
                answer = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
                response.responses.append(answer)
                for p in topic.partition_data:
                    answer.partition_responses.append(
                        _append(request, topic, p, call, verification, uncommitted)
                    )
                    yield
    finally:
        if verification is not None:
            verification.close()
    return _acknowledge(request, response, uncommitted, call)


def _copy_batches(request: ProduceRequest) -> None:
    """For an answer that takes more than one turn: the frame is gone after the first."""
    for topic in request.topic_data:
        for p in topic.partition_data:
            p.records = p.records and memoryview(bytearray(p.records))


def _transactional(request: ProduceRequest, call: Call) -> Iterator[tuple[Partition, memoryview]]:
    """The transactional batches, as far as this broker has their partitions."""
    for topic in request.topic_data:
        for p in topic.partition_data:
            if p.records is not None and is_transactional(p.records):
                try:
                    yield _find(topic, p.index, call), memoryview(p.records)
                except ApiError:
                    continue


def _acknowledge(
    request: ProduceRequest,
    response: ProduceResponse,
    uncommitted: list[Uncommitted],
    call: Call,
) -> ProduceResponse | Parked | None:
    if request.acks == 0:
        if any(p.error_code for topic in response.responses for p in topic.partition_responses):
            call.connection.close()
        return None
    unflushed = _unflushed(request, call)
    if unflushed:
        # timeout_ms is for the wait for other replicas; Kafka does not apply it to its fsync either.
        logs = [partition.log for partition in unflushed.values()]

        def flushed(failed: frozenset[Log]) -> None:
            _after_flush(response, unflushed, failed)
            if not _waits(request, response, uncommitted, call):
                call.finish(told(response, call))

        call.broker.flusher.flush(logs, flushed)
        return PARKED
    return PARKED if _waits(request, response, uncommitted, call) else told(response, call)


def _waits(
    request: ProduceRequest,
    response: ProduceResponse,
    uncommitted: list[Uncommitted],
    call: Call,
) -> bool:
    """Whether followers are still to have some of it; then the call is finished when they do."""
    waiting = [
        each
        for each in uncommitted
        if each.end_offset > each.partition.high_watermark and not each.response.error_code
    ]
    # The client may be gone since, if the disk was waited for.
    if not waiting or not call.connection.is_open:
        return False
    call.connection.hold(_PARKED_COST)
    delayed = HandledProduce(call, response, waiting)
    call.connection.on_lost = delayed.abandon
    delayed.wait(call.broker.waiting, delayed.ends(), request.timeout_ms)
    return True


def _after_flush(
    response: ProduceResponse,
    unflushed: Mapping[tuple[str | Uuid, int], Partition],
    failed: frozenset[Log],
) -> None:
    """What did not reach the disk is not acknowledged."""
    for topic in response.responses:
        for answer in topic.partition_responses:
            partition = unflushed.get((topic.name or topic.topic_id, answer.index))
            if partition is not None and partition.log in failed and not answer.error_code:
                answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
                answer.base_offset = -1


def _append(
    request: ProduceRequest,
    topic: TopicProduceData,
    data: PartitionProduceData,
    call: Call,
    verification: ProduceVerification | None,
    uncommitted: list[Uncommitted],
) -> PartitionProduceResponse:
    log: Partition | None = None  # known when the batch has got as far as the log
    try:
        if verification is not None:
            verification.check_request()
        if request.acks not in _VALID_ACKS:
            raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS)
        partition = _find(topic, data.index, call)
        records = _checked(data, call.version)
        if verification is not None:
            verification.check(partition)
        log = partition
        if verification is not None:
            verification.check_guard(partition)
        appended = partition.append(records, acks=request.acks, now=call.now.wall)
    except ApiError as e:
        return refusal(data.index, e, log)
    except Exception as e:  # noqa: BLE001 - a bug: the batches before it are in their logs, and answered
        return refusal(data.index, as_told(e, log), log)
    call.broker.appended(partition)
    response = PartitionProduceResponse(
        index=data.index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.append_time,
        log_start_offset=partition.log.start_offset,
    )
    if request.acks == ACKS_ALL and appended.last_offset >= partition.high_watermark:
        uncommitted.append(Uncommitted(partition, appended.last_offset + 1, response))
    return response


def as_told(error: Exception, partition: Partition | None) -> ApiError:
    """What a client hears of a bug that hit one of its batches."""
    logger.error(
        "a batch was not appended: partition=%s", partition and partition.name, exc_info=error
    )
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)


# Kafka words only what the client cannot guess from the code.
_WORDED = (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)
# What is refused before anybody looks at the log: then the client is not told where it starts.
_WITHOUT_LOG_START = (
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
)


def refusal(index: int, error: ApiError, partition: Partition | None) -> PartitionProduceResponse:
    response = PartitionProduceResponse(index=index, error_code=error.code, base_offset=-1)
    if error.code in _WORDED or isinstance(error, NotABatch | RefusedInWords):
        response.error_message = error.message
    if isinstance(error, RejectedRecords):
        response.record_errors = [
            BatchIndexAndErrorMessage(
                batch_index=each.batch_index, batch_index_error_message=each.message
            )
            for each in error.record_errors
        ]
    is_told = error.code not in _WITHOUT_LOG_START and not isinstance(error, NotABatch)
    if partition is not None and is_told:
        response.log_start_offset = partition.log.start_offset
    return response


def _checked(data: PartitionProduceData, version: int) -> memoryview:
    records = data.records
    if records is None or len(records) == 0:
        raise ApiError(ErrorCode.INVALID_RECORD, "the request carries no batch for this partition")
    view = memoryview(records)
    attributes = view[ATTRIBUTES_AT + 1] if len(view) > ATTRIBUTES_AT + 1 else 0
    if attributes & CODEC_MASK >= Codec.ZSTD and version < _FIRST_WITH_ZSTD:
        is_zstd = attributes & CODEC_MASK == Codec.ZSTD
        raise ApiError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if is_zstd else ErrorCode.UNKNOWN_SERVER_ERROR
        )
    return view


def _find(topic: TopicProduceData, index: int, call: Call) -> Partition:
    name = topic.name
    if call.version >= _FIRST_WITH_TOPIC_IDS:
        known = call.broker.image.topics_by_id.get(topic.topic_id)
        if known is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        name = known.name
    if not call.may(WRITE_TOPIC, name, quietly=True):
        raise ApiError(WRITE_TOPIC.error)
    if name in INTERNAL_TOPICS and call.client_id != _ADMIN:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    return call.broker.replicas.get(name, index)


def _unflushed(request: ProduceRequest, call: Call) -> dict[tuple[str | Uuid, int], Partition]:
    """The partitions of this request whose acknowledgement must wait for the disk (flush.messages)."""
    found: dict[tuple[str | Uuid, int], Partition] = {}
    for topic in request.topic_data:
        for data in topic.partition_data:
            try:
                partition = _find(topic, data.index, call)
            except ApiError:
                continue
            if call.broker.needs_flush(partition):
                found[topic.name or topic.topic_id, data.index] = partition
    return found
