"""aiokafka writes, reads by assignment and administers."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import MessageSizeTooLargeError

from support.patience import eventually

pytestmark = pytest.mark.compat

TIMEOUT_SECONDS = 40


def run(steps: Coroutine[Any, Any, Any]) -> Any:
    """Runs the steps of a test in a loop of its own, with a limit on the time."""
    return asyncio.run(asyncio.wait_for(steps, TIMEOUT_SECONDS))


async def write(bootstrap: str, topic: str, values: list[bytes], **options: Any) -> list[int]:
    """Writes the values to partition 0 and gives their offsets (none without acknowledgement)."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, **options) as producer:
        sent = [await producer.send(topic, value, partition=0) for value in values]
        done = await asyncio.gather(*sent)
    return [report.offset for report in done if report is not None]


async def take(consumer: AIOKafkaConsumer, count: int) -> list[ConsumerRecord]:
    return [await consumer.getone() for _ in range(count)]


async def read(
    bootstrap: str, topic: str, count: int, *, offset: int = 0, **options: Any
) -> list[ConsumerRecord]:
    """Records of partition 0 from an offset on; every CRC is checked."""
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, **options) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), offset)
        return await take(consumer, count)


@pytest.mark.parametrize("acks", [1, "all"])
def test_acknowledged_writes_get_consecutive_offsets(
    bootstrap: str, topic: str, acks: int | str
) -> None:
    values = [b"%d" % n for n in range(200)]

    assert run(write(bootstrap, topic, values, acks=acks)) == list(range(200))
    assert [r.value for r in run(read(bootstrap, topic, 200))] == values


def test_writes_without_acknowledgement_arrive_too(bootstrap: str, topic: str) -> None:
    run(write(bootstrap, topic, [b"a", b"b"], acks=0))

    assert [r.value for r in run(read(bootstrap, topic, 2))] == [b"a", b"b"]


def test_idempotent_producer_is_given_an_id(bootstrap: str, topic: str) -> None:
    values = [b"%d" % n for n in range(500)]

    offsets = run(write(bootstrap, topic, values, enable_idempotence=True, max_batch_size=500))

    assert offsets == list(range(500))
    assert [r.value for r in run(read(bootstrap, topic, 500))] == values


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_read_back(bootstrap: str, topic: str, codec: str) -> None:
    values = [b"%d " % n * 40 for n in range(300)]

    run(write(bootstrap, topic, values, compression_type=codec, linger_ms=50))

    assert [r.value for r in run(read(bootstrap, topic, 300))] == values


def test_keys_headers_timestamps_and_nulls_are_kept(bootstrap: str, topic: str) -> None:
    headers = [("trace", b"1"), ("trace", b"2"), ("empty", b"")]

    async def steps() -> list[ConsumerRecord]:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            await producer.send_and_wait(
                topic, b"v", b"k", partition=0, headers=headers, timestamp_ms=1_700_000_000_123
            )
            await producer.send_and_wait(topic, None, b"tombstone", partition=0)
        return await read(bootstrap, topic, 2)

    full, tombstone = run(steps())
    assert (full.key, full.value, full.timestamp) == (b"k", b"v", 1_700_000_000_123)
    assert list(full.headers) == headers
    assert (tombstone.key, tombstone.value) == (b"tombstone", None)


def test_too_large_a_batch_is_refused(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic(max_message_bytes="1000")

    with pytest.raises(MessageSizeTooLargeError):
        run(write(bootstrap, topic, [b"x" * 2_000]))


def test_reader_finds_offsets_by_end_start_and_time(bootstrap: str, topic: str) -> None:
    partition = TopicPartition(topic, 0)

    async def steps() -> tuple[int, int, Any, Any]:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            for n in range(10):
                await producer.send_and_wait(topic, b"v", partition=0, timestamp_ms=1_000 + n)
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
            consumer.assign([partition])
            first = (await consumer.beginning_offsets([partition]))[partition]
            end = (await consumer.end_offsets([partition]))[partition]
            found = (await consumer.offsets_for_times({partition: 1_005}))[partition]
            missing = (await consumer.offsets_for_times({partition: 9_000}))[partition]
            return first, end, found, missing

    first, end, found, missing = run(steps())
    assert (first, end, missing) == (0, 10, None)
    assert (found.offset, found.timestamp) == (5, 1_005)


def test_seeking_back_replays_and_the_end_gives_only_news(bootstrap: str, topic: str) -> None:
    partition = TopicPartition(topic, 0)

    async def steps() -> tuple[list[bytes | None], list[bytes | None], list[bytes | None]]:
        await write(bootstrap, topic, [b"a", b"b", b"c"])
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
            consumer.assign([partition])
            await consumer.seek_to_beginning(partition)
            first = await take(consumer, 3)
            consumer.seek(partition, 1)
            again = await take(consumer, 2)
            await consumer.seek_to_end(partition)
            await write(bootstrap, topic, [b"news"])
            news = await take(consumer, 1)
        return [r.value for r in first], [r.value for r in again], [r.value for r in news]

    assert run(steps()) == ([b"a", b"b", b"c"], [b"b", b"c"], [b"news"])


def test_waiting_fetch_wakes_up_when_data_arrives(bootstrap: str, topic: str) -> None:
    async def steps() -> Any:
        options = {"fetch_max_wait_ms": 60_000, "request_timeout_ms": 90_000}
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap, **options) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            consumer.seek(TopicPartition(topic, 0), 0)
            assert await consumer.getmany(timeout_ms=300) == {}
            await write(bootstrap, topic, [b"news"])
            return (await consumer.getone()).value

    # The limit of run() is shorter than the wait that the consumer asked for.
    assert run(steps()) == b"news"


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_plain_records_are_committed_records(bootstrap: str, topic: str, isolation: str) -> None:
    run(write(bootstrap, topic, [b"a", b"b"], enable_idempotence=True))

    records = run(read(bootstrap, topic, 2, isolation_level=isolation))

    assert [r.value for r in records] == [b"a", b"b"]


def administer(
    bootstrap: str, steps: Callable[[AIOKafkaAdminClient], Coroutine[Any, Any, Any]]
) -> Any:
    async def connected() -> Any:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            return await steps(admin)
        finally:
            await admin.close()

    return run(connected())


def test_topic_is_made_grown_and_deleted(bootstrap: str, topic_name: str) -> None:
    async def make(admin: AIOKafkaAdminClient) -> Any:
        wanted = NewTopic(topic_name, 2, 1, topic_configs={"retention.ms": "1000"})
        return await admin.create_topics([wanted])

    async def partitions(admin: AIOKafkaAdminClient) -> int:
        (described,) = await admin.describe_topics([topic_name])
        return len(described["partitions"])

    async def grow(admin: AIOKafkaAdminClient) -> Any:
        return await admin.create_partitions({topic_name: NewPartitions(5)})

    async def delete(admin: AIOKafkaAdminClient) -> Any:
        return await admin.delete_topics([topic_name])

    async def names(admin: AIOKafkaAdminClient) -> Any:
        return await admin.list_topics()

    def count(wanted: int) -> None:
        assert administer(bootstrap, partitions) == wanted

    def gone() -> None:
        assert topic_name not in administer(bootstrap, names)

    assert administer(bootstrap, make).topic_errors[0][1] == 0
    eventually(lambda: count(2))
    assert administer(bootstrap, grow).topic_errors[0][1] == 0
    eventually(lambda: count(5))
    assert administer(bootstrap, delete).topic_error_codes == [(topic_name, 0)]
    eventually(gone)


def test_topic_configs_are_described_and_altered(bootstrap: str, topic: str) -> None:
    async def value(admin: AIOKafkaAdminClient) -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        (answer,) = await admin.describe_configs([resource])
        ((_, _, _, _, entries),) = answer.resources
        (found,) = [entry[1] for entry in entries if entry[0] == "retention.ms"]
        return str(found)

    async def alter(admin: AIOKafkaAdminClient) -> Any:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "4321"})
        (answer,) = await admin.alter_configs([resource])
        return answer.resources[0][0]

    def expect(wanted: str) -> None:
        assert administer(bootstrap, value) == wanted

    expect("604800000")
    assert administer(bootstrap, alter) == 0
    eventually(lambda: expect("4321"))


def test_records_are_deleted_up_to_an_offset(bootstrap: str, topic: str) -> None:
    partition = TopicPartition(topic, 0)

    async def delete(admin: AIOKafkaAdminClient) -> Any:
        return await admin.delete_records({partition: RecordsToDelete(before_offset=6)})

    run(write(bootstrap, topic, [b"%d" % n for n in range(10)]))

    assert administer(bootstrap, delete) == {partition: 6}
    kept = run(read(bootstrap, topic, 4, offset=6))
    assert [r.offset for r in kept] == [6, 7, 8, 9]


def test_cluster_is_described(bootstrap: str) -> None:
    async def describe(admin: AIOKafkaAdminClient) -> Any:
        return await admin.describe_cluster()

    described = administer(bootstrap, describe)

    host, port = bootstrap.rsplit(":", 1)
    (node,) = described["brokers"]
    assert (node["host"], node["port"]) == (host, int(port))
    assert described["controller_id"] == node["node_id"]
