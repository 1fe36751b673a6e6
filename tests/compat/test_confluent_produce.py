"""confluent-kafka (librdkafka) writes, and what was written is read back record by record."""

from collections.abc import Callable, Sequence

import pytest
from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

pytestmark = pytest.mark.compat


def write(
    bootstrap: str, topic: str, values: Sequence[bytes | None], **options: object
) -> list[Message]:
    """Writes the values to partition 0 and gives the delivery reports."""
    reports: list[Message] = []
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            reports.append(message)
        else:
            errors.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, **options})
    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=delivered)
    assert producer.flush(30) == 0
    if errors:
        raise KafkaException(errors[0])
    return reports


def read(bootstrap: str, topic: str, count: int, *, partition: int = 0) -> list[Message]:
    """The first messages of a partition; the reader checks every CRC."""
    # It demands a group's name; without commits the group is never spoken to.
    options = {"group.id": "none", "enable.auto.commit": False, "check.crcs": True}
    consumer = Consumer({"bootstrap.servers": bootstrap, **options})
    consumer.assign([TopicPartition(topic, partition, 0)])
    messages: list[Message] = []
    while len(messages) < count:
        batch = consumer.consume(count - len(messages), 20)
        assert batch, f"only {len(messages)} of {count} messages came"
        messages += batch
    consumer.close()
    assert [m.error() for m in messages if m.error()] == []
    return messages


@pytest.mark.parametrize("acks", ["1", "all"])
def test_acknowledged_writes_get_consecutive_offsets(bootstrap: str, topic: str, acks: str) -> None:
    reports = write(bootstrap, topic, [b"%d" % n for n in range(100)], acks=acks)

    assert [m.offset() for m in reports] == list(range(100))
    assert [m.value() for m in read(bootstrap, topic, 100)] == [b"%d" % n for n in range(100)]


def test_writes_without_acknowledgement_arrive_too(bootstrap: str, topic: str) -> None:
    write(bootstrap, topic, [b"a", b"b"], acks="0")

    assert [m.value() for m in read(bootstrap, topic, 2)] == [b"a", b"b"]


def test_idempotent_producer_keeps_the_order_over_many_requests(bootstrap: str, topic: str) -> None:
    values = [b"%d" % n for n in range(2_000)]

    write(bootstrap, topic, values, **{"enable.idempotence": True, "batch.num.messages": 50})

    assert [m.value() for m in read(bootstrap, topic, 2_000)] == values


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_read_back(bootstrap: str, topic: str, codec: str) -> None:
    values = [b"%d " % n * 50 for n in range(500)]

    write(bootstrap, topic, values, **{"compression.type": codec, "linger.ms": 50})

    assert [m.value() for m in read(bootstrap, topic, 500)] == values


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
def test_topic_chooses_the_codec_of_its_batches(
    bootstrap: str, make_topic: Callable[..., str], codec: str
) -> None:
    topic = make_topic(compression_type=codec)

    write(bootstrap, topic, [b"x" * 1000] * 20, **{"compression.type": "lz4", "linger.ms": 50})

    assert [m.value() for m in read(bootstrap, topic, 20)] == [b"x" * 1000] * 20


def test_keys_headers_timestamps_and_nulls_are_kept(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    headers: list[tuple[str, str | bytes | None]] = [
        ("trace", b"1"),
        ("trace", b"2"),
        ("empty", b""),
        ("null", None),
    ]

    producer.produce(topic, b"v", b"k", partition=0, headers=headers, timestamp=1_700_000_000_123)
    producer.produce(topic, None, b"tombstone", partition=0)
    producer.produce(topic, b"", b"", partition=0)
    assert producer.flush(30) == 0

    full, tombstone, empty = read(bootstrap, topic, 3)
    assert (full.key(), full.value(), full.headers()) == (b"k", b"v", headers)
    assert full.timestamp() == (TIMESTAMP_CREATE_TIME, 1_700_000_000_123)
    assert (tombstone.key(), tombstone.value()) == (b"tombstone", None)
    assert (empty.key(), empty.value()) == (b"", b"")


def test_topic_may_stamp_records_when_they_arrive(
    bootstrap: str, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    producer = Producer({"bootstrap.servers": bootstrap})

    producer.produce(topic, b"v", partition=0, timestamp=1_000)
    assert producer.flush(30) == 0

    kind, timestamp = read(bootstrap, topic, 1)[0].timestamp()
    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert timestamp > 1_700_000_000_000


def test_equal_keys_meet_in_one_partition(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic(4)
    partitions: dict[bytes | None, set[int | None]] = {}
    producer = Producer({"bootstrap.servers": bootstrap})

    for n in range(200):
        key = b"key-%d" % (n % 10)
        producer.produce(
            topic,
            b"v",
            key,
            on_delivery=lambda _, m: partitions.setdefault(m.key(), set()).add(m.partition()),
        )
    assert producer.flush(30) == 0

    assert len(partitions) == 10
    assert all(len(where) == 1 for where in partitions.values())


def test_unknown_topic_is_made_on_the_first_write(bootstrap: str, topic_name: str) -> None:
    reports = write(bootstrap, topic_name, [b"first"])

    assert [m.offset() for m in reports] == [0]


def test_too_large_a_batch_is_refused(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic(max_message_bytes="1000")

    with pytest.raises(KafkaException) as refused:
        write(bootstrap, topic, [b"x" * 2_000])

    assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE


def test_record_without_a_key_is_refused_by_a_compacted_topic(
    bootstrap: str, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(cleanup_policy="compact")

    with pytest.raises(KafkaException) as refused:
        write(bootstrap, topic, [b"no key"])

    assert refused.value.args[0].code() == KafkaError.INVALID_RECORD


def test_timestamp_too_far_ahead_is_refused(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic(message_timestamp_after_max_ms="1000")
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": bootstrap})

    producer.produce(
        topic, b"v", timestamp=9_000_000_000_000, on_delivery=lambda e, _: errors.append(e)
    )
    assert producer.flush(30) == 0

    assert [e.code() for e in errors if e] == [KafkaError.INVALID_TIMESTAMP]


def test_megabytes_go_through_in_one_batch(bootstrap: str, topic: str) -> None:
    value = bytes(range(256)) * 3_900

    write(bootstrap, topic, [value] * 5, **{"message.max.bytes": 1_000_100})

    assert [m.value() for m in read(bootstrap, topic, 5)] == [value] * 5
