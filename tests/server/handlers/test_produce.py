"""Produce: where a batch lands, and what is refused with which code. The codes are those of Apache Kafka 4.3.1."""

import time
from collections.abc import Callable

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from klamm.protocol.records.batch import ATTRIBUTES_AT, MAGIC_AT, Codec, stamp_crc
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from server.asking import (
    NO_TOPIC,
    Topic,
    a_batch,
    a_fetch,
    a_produce,
    append,
    error,
    fetched,
    offset_at,
    partition_of,
    records_in,
)
from server.conftest import Connect, MakeTopic
from server.wire_client import WireClient

VERSIONS = range(3, 14)
NO_OFFSET = -1


def damaged() -> bytearray:
    batch = a_batch(b"x")
    batch[-1] ^= 1
    return batch


def of_magic(magic: int) -> bytearray:
    batch = a_batch(b"x")
    batch[MAGIC_AT] = magic
    return batch


def with_attributes(bits: int) -> bytearray:
    batch = a_batch(b"x")
    batch[ATTRIBUTES_AT + 1] |= bits
    stamp_crc(batch, 0, len(batch))
    return batch


def counting(*, records: int, last_offset_delta: int) -> bytearray:
    batch = a_batch(b"x", b"y")
    batch[23:27] = last_offset_delta.to_bytes(4, "big", signed=True)
    batch[57:61] = records.to_bytes(4, "big", signed=True)
    stamp_crc(batch, 0, len(batch))
    return batch


def a_control_batch() -> bytearray:
    marker = Record(timestamp=1, key=b"\0\0\0\1", value=bytes(6))
    return build_batch([marker], control=True, producer_id=1, producer_epoch=0)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("acks", [1, -1])
def test_each_version_appends_and_tells_the_offset(
    client: WireClient, topic: Topic, version: int, acks: int
) -> None:
    append(client, topic, b"before", b"it")

    answer = client.ask(a_produce(topic, a_batch(b"it"), acks=acks), version)

    partition = partition_of(answer)
    assert (partition.index, partition.error_code, partition.base_offset) == (0, 0, 2)
    assert partition.log_append_time_ms == -1
    assert partition.log_start_offset == (0 if version >= 5 else -1)
    assert answer.responses[0].name == (topic.name if version < 13 else "")
    assert fetched(client, topic, 2) == [b"it"]


REFUSED: dict[str, tuple[Callable[[], bytes | bytearray], ErrorCode]] = {
    "a wrong checksum": (damaged, ErrorCode.CORRUPT_MESSAGE),
    "no records": (bytes, ErrorCode.INVALID_RECORD),
    "three bytes": (lambda: b"abc", ErrorCode.INVALID_RECORD),
    "twenty zeros": (lambda: bytes(20), ErrorCode.CORRUPT_MESSAGE),
    "a batch that is cut off": (lambda: a_batch(b"x")[:-3], ErrorCode.INVALID_RECORD),
    "two batches": (lambda: a_batch(b"x") + a_batch(b"y"), ErrorCode.INVALID_RECORD),
    "an old format": (lambda: of_magic(1), ErrorCode.INVALID_RECORD),
    "a future format": (lambda: of_magic(3), ErrorCode.CORRUPT_MESSAGE),
    "an unknown codec": (lambda: with_attributes(7), ErrorCode.UNKNOWN_SERVER_ERROR),
    "a control batch": (a_control_batch, ErrorCode.INVALID_RECORD),
    "a base offset": (lambda: a_batch(b"x", base_offset=10), ErrorCode.INVALID_RECORD),
    "more records than offsets": (
        lambda: counting(records=5, last_offset_delta=1),
        ErrorCode.INVALID_RECORD,
    ),
    "more offsets than records": (
        lambda: counting(records=2, last_offset_delta=5),
        ErrorCode.INVALID_RECORD,
    ),
    "no record in a batch": (
        lambda: counting(records=0, last_offset_delta=-1),
        ErrorCode.INVALID_RECORD,
    ),
    "a producer without sequence": (
        lambda: a_batch(b"x", producer_id=900, producer_epoch=0, base_sequence=-1),
        ErrorCode.INVALID_RECORD,
    ),
    "a timestamp of tomorrow": (
        lambda: a_batch(b"x", timestamp=int(time.time() * 1000) + 36_000_000),
        ErrorCode.INVALID_TIMESTAMP,
    ),
    "transactional records without a transactional id": (
        lambda: a_batch(
            b"x", transactional=True, producer_id=902, producer_epoch=0, base_sequence=0
        ),
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
}


@pytest.mark.parametrize("version", [3, 8, 9, 13])
@pytest.mark.parametrize("what", REFUSED)
def test_what_no_log_takes_is_refused_and_leaves_no_trace(
    client: WireClient, topic: Topic, what: str, version: int
) -> None:
    make, code = REFUSED[what]

    partition = partition_of(client.ask(a_produce(topic, make()), version))

    assert (error(partition.error_code), partition.base_offset) == (code, NO_OFFSET)
    assert offset_at(client, topic, -1) == 0
    assert append(client, topic, b"next") == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_topic_is_told_by_name_and_by_id(client: WireClient, version: int) -> None:
    partition = partition_of(client.ask(a_produce(NO_TOPIC, a_batch()), version))

    by_name, by_id = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID
    assert partition.error_code == (by_name if version < 13 else by_id)


@pytest.mark.parametrize("index", [1, -1])
def test_a_partition_that_the_topic_does_not_have_is_unknown(
    client: WireClient, topic: Topic, index: int
) -> None:
    partition = partition_of(client.ask(a_produce(topic, a_batch(), partition=index)))

    assert (partition.index, partition.error_code) == (index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("acks", [2, -2])
def test_acks_are_none_one_or_all(client: WireClient, topic: Topic, acks: int) -> None:
    partition = partition_of(client.ask(a_produce(topic, a_batch(), acks=acks)))

    assert partition.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert offset_at(client, topic, -1) == 0


def test_a_batch_larger_than_max_message_bytes_is_refused(
    client: WireClient, make_topic: MakeTopic
) -> None:
    small = make_topic(max_message_bytes=200)

    partition = partition_of(client.ask(a_produce(small, a_batch(b"x" * 300))))

    assert partition.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_what_stands_behind_a_batch_and_is_no_batch_is_dropped(
    client: WireClient, topic: Topic
) -> None:
    partition = partition_of(client.ask(a_produce(topic, a_batch(b"x") + b"zz")))

    assert partition.error_code == 0
    assert fetched(client, topic) == [b"x"]


@pytest.mark.parametrize(("version", "code"), [(6, 76), (7, 0)])
def test_zstd_needs_a_client_that_knows_it(
    client: WireClient, topic: Topic, version: int, code: int
) -> None:
    batch = a_batch(b"x", codec=Codec.ZSTD)

    assert partition_of(client.ask(a_produce(topic, batch), version)).error_code == code


def test_the_records_to_blame_are_named(client: WireClient, make_topic: MakeTopic) -> None:
    compacted = make_topic(cleanup_policy="compact")
    batch = build_batch(
        [Record(timestamp=1, key=b"k", value=b"1"), Record(timestamp=1, value=b"2")]
    )

    partition = partition_of(client.ask(a_produce(compacted, batch)))

    reason = (
        f"Compacted topic cannot accept message without key in topic partition {compacted.name}-0"
    )
    assert partition.error_code == ErrorCode.INVALID_RECORD
    assert [(e.batch_index, e.batch_index_error_message) for e in partition.record_errors] == [
        (1, reason)
    ]
    assert reason in partition.error_message


def test_min_insync_replicas_asks_no_more_than_there_are_replicas(
    client: WireClient, make_topic: MakeTopic
) -> None:
    topic = make_topic(min_insync_replicas=2)

    partition = partition_of(client.ask(a_produce(topic, a_batch(), acks=-1)))

    assert partition.error_code == 0


def test_the_brokers_time_is_told_where_the_topic_wants_it(
    client: WireClient, make_topic: MakeTopic
) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)

    partition = partition_of(client.ask(a_produce(topic, a_batch(b"x", b"y", timestamp=5))))

    assert before <= partition.log_append_time_ms <= int(time.time() * 1000)
    stored = records_in(partition_of(client.ask(a_fetch(topic))).records)
    assert {record.timestamp for record in stored} == {partition.log_append_time_ms}


def test_several_topics_and_partitions_are_answered_one_by_one(
    client: WireClient, make_topic: MakeTopic
) -> None:
    first, second = make_topic(2), make_topic(1)
    append(client, first, b"a", partition=1)
    good, bad = bytes(a_batch(b"b")), bytes(damaged())
    request = ProduceRequest(
        acks=-1,
        timeout_ms=5_000,
        topic_data=[
            TopicProduceData(
                name=topic.name,
                topic_id=topic.id,
                partition_data=[
                    PartitionProduceData(index=index, records=data) for index, data in batches
                ],
            )
            for topic, batches in (
                (first, [(0, good), (1, good), (9, good)]),
                (NO_TOPIC, [(0, good)]),
                (second, [(0, bad)]),
            )
        ],
    )

    answer = client.ask(request)

    unknown, no_id = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID
    told = {
        (Uuid(topic.topic_id), p.index): (p.error_code, p.base_offset)
        for topic in answer.responses
        for p in topic.partition_responses
    }
    assert told == {
        (first.id, 0): (0, 0),
        (first.id, 1): (0, 1),
        (first.id, 9): (unknown, NO_OFFSET),
        (NO_TOPIC.id, 0): (no_id, NO_OFFSET),
        (second.id, 0): (ErrorCode.CORRUPT_MESSAGE, NO_OFFSET),
    }


def test_a_request_without_topics_is_answered_without_topics(client: WireClient) -> None:
    assert client.ask(ProduceRequest(acks=-1)).responses == []


def test_acks_0_has_no_answer(client: WireClient, topic: Topic) -> None:
    client.send_frame_of(a_produce(topic, a_batch(b"silent"), acks=0))

    assert append(client, topic, b"heard") == 1
    assert fetched(client, topic) == [b"silent", b"heard"]


def test_a_failed_acks_0_closes_the_connection(connect: Connect) -> None:
    client = connect()

    client.send_frame_of(a_produce(NO_TOPIC, a_batch(), acks=0))

    assert client.is_closed_by_the_broker()


def idempotent(
    producer: int, sequence: int, *, count: int = 1, epoch: int = 0, timestamp: int = 77
) -> bytearray:
    return a_batch(
        *[b"x"] * count,
        timestamp=timestamp,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def outcome_of(client: WireClient, topic: Topic, batch: bytearray) -> tuple[ErrorCode, int]:
    partition = partition_of(client.ask(a_produce(topic, batch)))
    return error(partition.error_code), partition.base_offset


def test_a_batch_sent_twice_is_acknowledged_twice_and_stored_once(
    client: WireClient, topic: Topic
) -> None:
    append(client, topic, b"before")
    batch = idempotent(7, 0, count=2)
    first = partition_of(client.ask(a_produce(topic, batch)))

    again = partition_of(client.ask(a_produce(topic, batch)))

    assert (first.base_offset, first.log_append_time_ms) == (1, -1)
    # For a duplicate Kafka tells the timestamp of the batch that it remembers.
    assert (again.error_code, again.base_offset, again.log_append_time_ms) == (0, 1, 77)
    assert offset_at(client, topic, -1) == 3


def test_the_last_five_batches_of_a_producer_are_remembered(
    client: WireClient, topic: Topic
) -> None:
    for sequence in range(7):
        assert outcome_of(client, topic, idempotent(7, sequence)) == (ErrorCode.NONE, sequence)

    assert outcome_of(client, topic, idempotent(7, 2)) == (ErrorCode.NONE, 2)
    out_of_order = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, NO_OFFSET)
    assert outcome_of(client, topic, idempotent(7, 1)) == out_of_order


def test_a_gap_in_the_sequence_is_refused(client: WireClient, topic: Topic) -> None:
    assert outcome_of(client, topic, idempotent(7, 0)) == (ErrorCode.NONE, 0)

    partition = partition_of(client.ask(a_produce(topic, idempotent(7, 2))))

    assert partition.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.log_start_offset == 0


def test_a_producer_may_begin_anywhere_and_goes_on_from_there(
    client: WireClient, topic: Topic
) -> None:
    assert outcome_of(client, topic, idempotent(7, 5)) == (ErrorCode.NONE, 0)
    assert outcome_of(client, topic, idempotent(7, 6)) == (ErrorCode.NONE, 1)


def test_sequences_wrap_around_to_zero(client: WireClient, topic: Topic) -> None:
    assert outcome_of(client, topic, idempotent(7, 2**31 - 1, count=2)) == (ErrorCode.NONE, 0)
    assert outcome_of(client, topic, idempotent(7, 1)) == (ErrorCode.NONE, 2)


def test_a_newer_epoch_begins_at_zero_and_fences_the_older_one(
    client: WireClient, topic: Topic
) -> None:
    assert outcome_of(client, topic, idempotent(7, 0, count=3)) == (ErrorCode.NONE, 0)

    begins_at_four = outcome_of(client, topic, idempotent(7, 4, epoch=1))
    begins_at_zero = outcome_of(client, topic, idempotent(7, 0, epoch=1))
    old_epoch = outcome_of(client, topic, idempotent(7, 3, epoch=0))

    assert begins_at_four == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, NO_OFFSET)
    assert begins_at_zero == (ErrorCode.NONE, 3)
    assert old_epoch == (ErrorCode.INVALID_PRODUCER_EPOCH, NO_OFFSET)
