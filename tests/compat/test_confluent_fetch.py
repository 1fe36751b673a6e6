"""confluent-kafka (librdkafka) reads partitions that it was assigned by hand."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

pytestmark = pytest.mark.compat

FIRST_TIMESTAMP = 1_700_000_000_000


@contextmanager
def reader(bootstrap: str, **options: object) -> Iterator[Consumer]:
    # It demands a group's name; without commits the group is never spoken to.
    plain = {"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False}
    consumer = Consumer({**plain, **options})
    try:
        yield consumer
    finally:
        consumer.close()


def take(consumer: Consumer, count: int) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < count:
        message = event(consumer)
        assert message.error() is None
        messages.append(message)
    return messages


def event(consumer: Consumer) -> Message:
    """The next thing that happens, be it a message or the end of a partition."""
    happened = consumer.poll(20)
    assert happened is not None
    return happened


def end_of(consumer: Consumer) -> int | None:
    """The offset at which the partition ends, when that is what happens next."""
    happened = event(consumer)
    error = happened.error()
    assert error is not None
    assert error.code() == KafkaError._PARTITION_EOF
    return happened.offset()


def offsets(messages: list[Message]) -> list[int | None]:
    return [message.offset() for message in messages]


@pytest.fixture
def producer(bootstrap: str) -> Producer:
    return Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})


@pytest.fixture
def full_topic(topic: str, producer: Producer) -> str:
    """A hundred records, one second apart, in ten batches."""
    for n in range(100):
        producer.produce(topic, b"%d" % n, partition=0, timestamp=FIRST_TIMESTAMP + 1_000 * n)
        if n % 10 == 9:
            assert producer.flush(30) == 0
    return topic


def test_reading_starts_at_the_asked_offset(bootstrap: str, full_topic: str) -> None:
    with reader(bootstrap) as consumer:
        consumer.assign([TopicPartition(full_topic, 0, 42)])

        assert offsets(take(consumer, 58)) == list(range(42, 100))


def test_reading_starts_at_the_record_of_a_timestamp(bootstrap: str, full_topic: str) -> None:
    with reader(bootstrap) as consumer:
        asked = [TopicPartition(full_topic, 0, FIRST_TIMESTAMP + 54_321)]
        (found,) = consumer.offsets_for_times(asked, timeout=20)
        consumer.assign([found])

        assert found.offset == 55
        assert take(consumer, 1)[0].timestamp()[1] == FIRST_TIMESTAMP + 55_000


def test_timestamp_after_the_last_record_finds_the_end(bootstrap: str, full_topic: str) -> None:
    with reader(bootstrap) as consumer:
        asked = [TopicPartition(full_topic, 0, FIRST_TIMESTAMP + 1_000_000)]

        (found,) = consumer.offsets_for_times(asked, timeout=20)

    assert found.offset == OFFSET_END


def test_watermarks_tell_first_and_next_offset(bootstrap: str, full_topic: str) -> None:
    with reader(bootstrap) as consumer:
        assert consumer.get_watermark_offsets(TopicPartition(full_topic, 0), timeout=20) == (0, 100)


def test_reader_at_the_end_gets_only_what_comes_later(
    bootstrap: str, full_topic: str, producer: Producer
) -> None:
    with reader(bootstrap, **{"enable.partition.eof": True}) as consumer:
        consumer.assign([TopicPartition(full_topic, 0, OFFSET_END)])
        end = end_of(consumer)
        producer.produce(full_topic, b"later", partition=0)
        producer.flush(30)

        assert end == 100
        assert [(m.offset(), m.value()) for m in take(consumer, 1)] == [(100, b"later")]


def test_seeking_back_replays_the_same_records(bootstrap: str, full_topic: str) -> None:
    with reader(bootstrap) as consumer:
        consumer.assign([TopicPartition(full_topic, 0, OFFSET_BEGINNING)])
        first = take(consumer, 100)
        consumer.seek(TopicPartition(full_topic, 0, 0))
        again = take(consumer, 100)

    assert [(m.offset(), m.value()) for m in first] == [(m.offset(), m.value()) for m in again]


def test_waiting_fetch_wakes_up_when_data_arrives(
    bootstrap: str, topic: str, producer: Producer
) -> None:
    options = {"fetch.wait.max.ms": 60_000, "socket.timeout.ms": 70_000}
    with reader(bootstrap, **options) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        assert consumer.poll(0.5) is None
        started = time.monotonic()
        producer.produce(topic, b"news", partition=0)
        producer.flush(30)
        message = take(consumer, 1)[0]

    assert message.value() == b"news"
    assert time.monotonic() - started < 30


def test_fetch_waits_until_enough_bytes_came(bootstrap: str, full_topic: str) -> None:
    # More than there is: the answer comes when the wait is over, with what there is.
    options = {"fetch.min.bytes": 100_000, "fetch.wait.max.ms": 300}
    with reader(bootstrap, **options) as consumer:
        consumer.assign([TopicPartition(full_topic, 0, 0)])

        assert offsets(take(consumer, 100)) == list(range(100))


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_plain_records_are_committed_records(
    bootstrap: str, full_topic: str, isolation: str
) -> None:
    with reader(bootstrap, **{"isolation.level": isolation}) as consumer:
        consumer.assign([TopicPartition(full_topic, 0, 0)])

        assert offsets(take(consumer, 100)) == list(range(100))


def test_batch_larger_than_the_fetch_limit_still_arrives(
    bootstrap: str, topic: str, producer: Producer
) -> None:
    for size in (200_000, 10, 300_000):
        producer.produce(topic, b"x" * size, partition=0)
        producer.flush(30)
    options = {
        "fetch.max.bytes": 1_000,
        "message.max.bytes": 1_000,
        "max.partition.fetch.bytes": 1_000,
    }
    with reader(bootstrap, **options) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])

        assert [len(m.value() or b"") for m in take(consumer, 3)] == [200_000, 10, 300_000]


def test_one_reader_gets_all_partitions(
    bootstrap: str, make_topic: Callable[..., str], producer: Producer
) -> None:
    topic = make_topic(8)
    for n in range(800):
        producer.produce(topic, b"%d" % n, partition=n % 8)
    producer.flush(30)
    with reader(bootstrap) as consumer:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(8)])
        messages = take(consumer, 800)

    for partition in range(8):
        values = [m.value() for m in messages if m.partition() == partition]
        assert values == [b"%d" % n for n in range(partition, 800, 8)]


@pytest.mark.parametrize(("reset", "offset"), [("earliest", 0), ("latest", 100)])
def test_offset_out_of_range_resets_the_reader(
    bootstrap: str, full_topic: str, producer: Producer, reset: str, offset: int
) -> None:
    options = {"auto.offset.reset": reset, "enable.partition.eof": True}
    with reader(bootstrap, **options) as consumer:
        consumer.assign([TopicPartition(full_topic, 0, 5_000)])

        assert event(consumer).offset() == offset


def test_deleted_records_are_out_of_reach(
    bootstrap: str, full_topic: str, admin: AdminClient
) -> None:
    deletion = admin.delete_records([TopicPartition(full_topic, 0, 70)])
    (result,) = deletion.values()

    assert result.result(20).low_watermark == 70
    with reader(bootstrap, **{"auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition(full_topic, 0, 0)])
        assert offsets(take(consumer, 30)) == list(range(70, 100))
