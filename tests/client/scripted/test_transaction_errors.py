"""What a producer makes of each refusal: try again, abort, or give up; and what it asks of which version."""

from random import Random

import pytest

from client.networks import Answer, ScriptedBroker
from client.scripted.jumping_loop import Code, producing_broker, run
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client import (
    CommittedOffset,
    Environment,
    GroupMetadata,
    Producer,
    ProducerSettings,
)
from klamm.client.errors import ProducerFailed, TransactionFailed
from klamm.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from klamm.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from klamm.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest
from klamm.protocol.messages.produce import ProduceRequest
from klamm.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)


def ending(*codes: ErrorCode) -> dict[type, Answer]:
    """EndTxn is answered with these codes, then with success and the next epoch."""
    left = list(codes)

    def end(request: object, _: int) -> EndTxnResponse:
        assert isinstance(request, EndTxnRequest)
        if left:
            return EndTxnResponse(error_code=left.pop(0))
        return EndTxnResponse(producer_id=1, producer_epoch=request.producer_epoch + 1)

    return {EndTxnRequest: end}


def adding(*codes: ErrorCode) -> dict[type, Answer]:
    left = list(codes)

    def add(*_: object) -> AddPartitionsToTxnResponse:
        code = left.pop(0) if left else ErrorCode.NONE
        part = AddPartitionsToTxnPartitionResult(partition_error_code=code)
        topic = AddPartitionsToTxnTopicResult(name="topic", results_by_partition=[part])
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[topic])

    return {AddPartitionsToTxnRequest: add}


def producer_of(broker: ScriptedBroker) -> Producer[bytes | None, bytes | None]:
    environment = Environment(rng=Random(1), open=broker.open)
    return Producer("a:1", ProducerSettings(transactional_id="id"), environment=environment)


def asked(broker: ScriptedBroker, kind: type) -> list[int]:
    return [version for request, version in broker.asked if type(request) is kind]


async def one_transaction(broker: ScriptedBroker) -> str:
    """How a transaction of one record ends."""
    async with producer_of(broker) as producer:
        producer.begin()
        try:
            await producer.send("topic", b"")
            await producer.commit()
        except TransactionFailed:
            await producer.abort()
            async with producer.transaction():
                await producer.send("topic", b"")
            return "aborted"
        except ProducerFailed as e:
            return f"failed: {e.code.name}"
        return "committed"


def test_newer_protocol_adds_no_partitions_and_takes_its_epoch_from_the_end() -> None:
    broker = producing_broker(answers=ending())

    async def work() -> int:
        async with producer_of(broker) as producer:
            for _ in range(3):
                async with producer.transaction():
                    await producer.send("topic", b"")
            assert producer._transactions is not None
            return producer._transactions._sequences.producer.epoch

    assert run(work)[0] == 3
    assert asked(broker, EndTxnRequest) == [5, 5, 5]
    assert min(asked(broker, ProduceRequest)) >= 12


def test_older_protocol_adds_partitions_and_keeps_to_older_versions() -> None:
    broker = producing_broker(answers={**ending(), **adding()}, transaction_version=1)

    assert run(lambda: one_transaction(broker))[0] == "committed"
    assert asked(broker, AddPartitionsToTxnRequest) == [3]
    assert (asked(broker, EndTxnRequest), asked(broker, ProduceRequest)) == ([4], [11])


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, "committed"),
        (None, "committed"),
        (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, "committed"),
        (ErrorCode.MESSAGE_TOO_LARGE, "aborted"),
        (ErrorCode.INVALID_PRODUCER_EPOCH, "aborted"),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "aborted"),
        (ErrorCode.UNKNOWN_PRODUCER_ID, "aborted"),
        (ErrorCode.TRANSACTION_ABORTABLE, "aborted"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "aborted"),
        (ErrorCode.PRODUCER_FENCED, "failed: PRODUCER_FENCED"),
        (ErrorCode.INVALID_TXN_STATE, "failed: INVALID_TXN_STATE"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_refused_batch_decides_over_its_transaction(code: Code, outcome: str, version: int) -> None:
    broker = producing_broker(code, answers={**ending(), **adding()}, transaction_version=version)

    assert run(lambda: one_transaction(broker))[0] == outcome


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (ErrorCode.CONCURRENT_TRANSACTIONS, "committed"),
        (ErrorCode.NOT_COORDINATOR, "committed"),
        (ErrorCode.TRANSACTION_ABORTABLE, "aborted"),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, "aborted"),
        (ErrorCode.PRODUCER_FENCED, "failed: PRODUCER_FENCED"),
        (ErrorCode.INVALID_PRODUCER_EPOCH, "failed: PRODUCER_FENCED"),
        (ErrorCode.INVALID_TXN_STATE, "failed: INVALID_TXN_STATE"),
    ],
)
def test_coordinators_answer_to_the_end_is_obeyed(code: ErrorCode, outcome: str) -> None:
    broker = producing_broker(answers=ending(code))

    assert run(lambda: one_transaction(broker))[0] == outcome


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "committed"),
        (ErrorCode.CONCURRENT_TRANSACTIONS, "committed"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "aborted"),
        (ErrorCode.PRODUCER_FENCED, "failed: PRODUCER_FENCED"),
    ],
)
def test_refused_partition_decides_over_its_transaction(code: ErrorCode, outcome: str) -> None:
    broker = producing_broker(answers={**ending(), **adding(code)}, transaction_version=1)

    assert run(lambda: one_transaction(broker))[0] == outcome


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None),
        (ErrorCode.ILLEGAL_GENERATION, TransactionFailed),
        (ErrorCode.FENCED_INSTANCE_ID, TransactionFailed),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, TransactionFailed),
        (ErrorCode.PRODUCER_FENCED, ProducerFailed),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_refused_offsets_decide_over_their_transaction(
    code: ErrorCode, error: type[ApiError] | None, version: int
) -> None:
    left = [code]

    def commit(*_: object) -> TxnOffsetCommitResponse:
        part = TxnOffsetCommitResponsePartition(error_code=left.pop() if left else 0)
        topic = TxnOffsetCommitResponseTopic(name="topic", partitions=[part])
        return TxnOffsetCommitResponse(topics=[topic])

    answers: dict[type, Answer] = {
        **ending(),
        TxnOffsetCommitRequest: commit,
        AddOffsetsToTxnRequest: lambda *_: AddOffsetsToTxnResponse(),
    }
    broker = producing_broker(answers=answers, transaction_version=version)

    async def work() -> type[ApiError] | None:
        async with producer_of(broker) as producer:
            producer.begin()
            offsets = {TopicPartition("topic", 0): CommittedOffset(1)}
            try:
                await producer.send_offsets(offsets, GroupMetadata("group"))
            except ApiError as e:
                return type(e)
            await producer.commit()
            return None

    assert run(work)[0] is error
    assert bool(asked(broker, AddOffsetsToTxnRequest)) == (version == 1)


def test_hole_in_an_old_transaction_costs_a_new_epoch_after_the_abort() -> None:
    broker = producing_broker(
        ErrorCode.MESSAGE_TOO_LARGE, answers={**ending(), **adding()}, transaction_version=1
    )

    assert run(lambda: one_transaction(broker))[0] == "aborted"
    assert len(asked(broker, InitProducerIdRequest)) == 2


def test_transaction_of_nothing_is_not_told_to_the_coordinator() -> None:
    broker = producing_broker(answers=ending())

    async def work() -> None:
        async with producer_of(broker) as producer:
            async with producer.transaction():
                pass
            producer.begin()
            await producer.abort()

    run(work)
    assert asked(broker, EndTxnRequest) == []


def test_open_transaction_is_aborted_when_the_producer_is_closed() -> None:
    broker = producing_broker(answers=ending())

    async def work() -> None:
        async with producer_of(broker) as producer:
            producer.begin()
            await producer.send_and_wait("topic", b"")

    run(work)
    (end,) = [request for request, _ in broker.asked if isinstance(request, EndTxnRequest)]
    assert not end.committed
