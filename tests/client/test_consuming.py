"""Consumer without a group, against running brokers: positions, seeks, pauses, isolation."""

from datetime import timedelta

import pytest

from client.conftest import MakeTopic, admin_of
from client.reading import values_of
from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import Consumer, ConsumerSettings, Producer, ProducerSettings
from klamm.client.errors import NoOffset
from klamm.client.serializers import read_json, read_text

EARLIEST = ConsumerSettings(auto_offset_reset="earliest")


async def fill(address: str, topic: str, count: int, *, partition: int = 0) -> None:
    async with Producer(address) as producer:
        for number in range(count):
            await producer.send(topic, b"%d" % number, partition=partition, timestamp=1000 + number)


async def take(consumer: Consumer[bytes | None, bytes | None], count: int) -> list[int]:
    """The next so many values; all of them are numbers."""
    taken: list[int] = []
    while len(taken) < count:
        rows = await consumer.poll(timeout_ms=5000, max_records=count - len(taken))
        taken += [int(row.value or b"") for row in rows]
    return taken


async def test_reads_from_where_the_policy_says(address: str, make_topic: MakeTopic) -> None:
    topic = await make_topic()
    await fill(address, topic, 10)
    partition = TopicPartition(topic, 0)

    async with Consumer(address, EARLIEST) as consumer:
        consumer.assign([partition])
        assert await take(consumer, 10) == list(range(10))
    async with Consumer(address) as consumer:
        consumer.assign([partition])
        assert await consumer.position(partition) == 10
    long_ago = ConsumerSettings(auto_offset_reset=timedelta(days=365 * 100))
    async with Consumer(address, long_ago) as consumer:
        consumer.assign([partition])
        assert await consumer.position(partition) == 0
    async with Consumer(address, ConsumerSettings(auto_offset_reset="none")) as consumer:
        consumer.assign([partition])
        with pytest.raises(NoOffset):
            while True:
                await consumer.poll(timeout_ms=1000)


async def test_seeks_move_the_position_by_offset_end_and_time(
    address: str, make_topic: MakeTopic
) -> None:
    topic = await make_topic()
    await fill(address, topic, 100)
    partition = TopicPartition(topic, 0)

    async with Consumer(address, EARLIEST) as consumer:
        consumer.assign([partition])
        assert await take(consumer, 3) == [0, 1, 2]
        consumer.seek(partition, 50)
        assert await take(consumer, 2) == [50, 51]
        await consumer.seek_to_time(1090)
        assert await take(consumer, 2) == [90, 91]
        consumer.seek_to_beginning()
        assert await take(consumer, 1) == [0]
        consumer.seek_to_end()
        assert await consumer.position(partition) == 100
        await consumer.seek_to_time(5000)
        assert await consumer.position(partition) == 100
        assert await consumer.beginning_offsets([partition]) == {partition: 0}


async def test_paused_partition_gives_nothing_until_it_is_resumed(
    address: str, make_topic: MakeTopic
) -> None:
    topic = await make_topic(partitions=2)
    await fill(address, topic, 10, partition=0)
    await fill(address, topic, 10, partition=1)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)

    async with Consumer(address, EARLIEST) as consumer:
        consumer.assign([first, second])
        consumer.pause([first])
        assert await take(consumer, 10) == list(range(10))
        assert (consumer.paused(), await consumer.position(second)) == ({first}, 10)
        consumer.resume([first])
        assert await take(consumer, 10) == list(range(10))
        assert await consumer.position(first) == 10
        assert consumer.lag(first) == 0


async def test_position_that_the_log_has_lost_is_reset(address: str, make_topic: MakeTopic) -> None:
    topic = await make_topic()
    await fill(address, topic, 10)
    partition = TopicPartition(topic, 0)
    async with admin_of(address) as admin:
        assert await admin.records.delete({partition: 6}) == {partition: 6}

    async with Consumer(address, EARLIEST) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 2)
        assert await take(consumer, 4) == [6, 7, 8, 9]
        consumer.seek(partition, 1000)
        assert await take(consumer, 1) == [6]
    async with Consumer(address, ConsumerSettings(auto_offset_reset="none")) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 1000)
        with pytest.raises(NoOffset):
            while True:
                await consumer.poll(timeout_ms=1000)


async def test_iteration_gives_one_record_at_a_time(address: str, make_topic: MakeTopic) -> None:
    topic = await make_topic()
    await fill(address, topic, 5)
    partition = TopicPartition(topic, 0)

    async with Consumer(address, EARLIEST) as consumer:
        consumer.assign([partition])
        seen = []
        async for record in consumer:
            seen.append(record.offset)
            assert await consumer.position(partition) == record.offset + 1
            if record.offset == 3:
                break

    assert seen == [0, 1, 2, 3]


async def test_what_a_deserializer_refuses_can_be_passed_over(
    address: str, make_topic: MakeTopic
) -> None:
    topic = await make_topic()
    async with Producer(address) as producer:
        for value in (b"1", b"no json", b"3"):
            await producer.send(topic, value)
    partition = TopicPartition(topic, 0)

    async with Consumer(
        address, EARLIEST, key_deserializer=read_text, value_deserializer=read_json
    ) as consumer:
        consumer.assign([partition])
        seen = [row.value for row in await consumer.poll(timeout_ms=5000)]
        with pytest.raises(ValueError):
            await consumer.poll(timeout_ms=5000)
        consumer.seek(partition, await consumer.position(partition) + 1)
        seen += [row.value for row in await consumer.poll(timeout_ms=5000)]

    assert seen == [1, 3]


async def test_aborted_and_open_transactions_are_not_seen_by_read_committed(
    address: str, make_topic: MakeTopic, name: str
) -> None:
    topic = await make_topic()
    async with Producer(address, ProducerSettings(transactional_id=name)) as producer:
        async with producer.transaction():
            await producer.send(topic, b"1")
        producer.begin()
        await producer.send(topic, b"aborted")
        await producer.flush()
        await producer.abort()
        async with producer.transaction():
            await producer.send(topic, b"2")
        producer.begin()
        await producer.send_and_wait(topic, b"open")

        committed = await values_of(address, topic, read_committed=True)
        everything = await values_of(address, topic)
        await producer.abort()

    assert committed == [b"1", b"2"]
    assert everything == [b"1", b"aborted", b"2", b"open"]


async def test_partition_that_does_not_exist_is_said_so(klamm_address: str) -> None:
    async with Consumer(klamm_address, EARLIEST) as consumer:
        with pytest.raises(ApiError):
            consumer.seek(TopicPartition("nothing", 0), 1)
