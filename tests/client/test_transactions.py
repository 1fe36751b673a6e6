"""Transactions against running brokers: all or nothing, and only one producer per transactional id."""

from random import Random

import pytest

from client.conftest import MakeTopic, admin_of
from client.networks import FlakyNetwork
from client.reading import values_of
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client import (
    CommittedOffset,
    Consumer,
    ConsumerSettings,
    Environment,
    GroupMetadata,
    Producer,
    ProducerSettings,
)
from klamm.client.backoff import Backoff
from klamm.client.errors import ProducerFailed, TransactionFailed
from klamm.client.producer.transactions import State

QUICK = Backoff(initial_ms=5, max_ms=50)


def settings_of(name: str) -> ProducerSettings:
    return ProducerSettings(transactional_id=name, retry_backoff=QUICK)


def speak_old_protocol(producer: Producer[bytes | None, bytes | None]) -> None:
    """As with a cluster whose transaction.version is 1."""
    assert producer._transactions is not None
    producer._transactions.is_version_2 = False


BOTH_PROTOCOLS = pytest.mark.parametrize("is_old", [False, True], ids=["tv2", "tv1"])


@BOTH_PROTOCOLS
async def test_transactions_are_all_or_nothing_across_partitions(
    address: str, make_topic: MakeTopic, name: str, is_old: bool
) -> None:
    topic = await make_topic(partitions=3)

    async with Producer(address, settings_of(name)) as producer:
        if is_old:
            speak_old_protocol(producer)
        for number in range(10):
            producer.begin()
            for partition in range(3):
                await producer.send(topic, b"%d" % number, partition=partition)
            if number % 3 == 2:
                await producer.flush()
                await producer.abort()
            else:
                await producer.commit()

    committed = [b"%d" % number for number in range(10) if number % 3 != 2]
    assert await values_of(address, topic, read_committed=True) == committed * 3
    assert await values_of(address, topic) == [b"%d" % number for number in range(10)] * 3


@BOTH_PROTOCOLS
async def test_offsets_count_only_if_the_transaction_commits(
    address: str, make_topic: MakeTopic, name: str, is_old: bool
) -> None:
    topic = await make_topic()
    partition = TopicPartition(topic, 0)
    group = GroupMetadata(f"{name}-group")

    async with Producer(address, settings_of(name)) as producer, admin_of(address) as admin:
        if is_old:
            speak_old_protocol(producer)
        async with producer.transaction():
            await producer.send(topic, b"1")
            await producer.send_offsets({partition: CommittedOffset(1)}, group)
        first = await admin.groups.offsets(group.group_id)
        producer.begin()
        await producer.send_offsets({partition: CommittedOffset(2)}, group)
        await producer.abort()
        second = await admin.groups.offsets(group.group_id)

    assert first[partition].offset == second[partition].offset == 1


@pytest.mark.parametrize("seed", [1, 2])
@BOTH_PROTOCOLS
async def test_read_process_write_is_exactly_once_over_a_network_that_breaks(
    address: str, make_topic: MakeTopic, name: str, is_old: bool, seed: int
) -> None:
    source, target = await make_topic(partitions=2), await make_topic(partitions=2)
    async with Producer(address) as producer:
        for number in range(200):
            await producer.send(source, b"%d" % number, partition=number % 2)
    network = FlakyNetwork(Random(seed), 0.05, calm_answers=1)
    environment = Environment(rng=Random(seed), open=network.open)
    reading = ConsumerSettings(
        group_id=name,
        auto_offset_reset="earliest",
        auto_commit=False,
        max_poll_records=20,
        read_committed=True,
        heartbeat_interval_ms=100,
        retry_backoff=QUICK,
    )

    moved = 0
    async with (
        Consumer(address, reading, environment=environment) as consumer,
        Producer(address, settings_of(name), environment=environment) as producer,
    ):
        if is_old:
            speak_old_protocol(producer)
        await consumer.subscribe([source])
        while moved < 200:
            rows = await consumer.poll(timeout_ms=100)
            if not rows:
                continue
            producer.begin()
            for row in rows:
                await producer.send(target, row.value, partition=row.partition)
            offsets = {row.topic_partition: CommittedOffset(row.offset + 1) for row in rows}
            await producer.send_offsets(offsets, consumer.group_metadata())
            if moved == 0:
                await producer.abort()
                for row in reversed(rows):
                    consumer.seek(row.topic_partition, row.offset)
                moved = -1
                continue
            await producer.commit()
            moved = max(moved, 0) + len(rows)

    assert network.breaks > 0
    copied = await values_of(address, target, read_committed=True)
    assert [int(value) for value in copied] == [*range(0, 200, 2), *range(1, 200, 2)]


async def test_newer_producer_fences_the_older_one(
    address: str, make_topic: MakeTopic, name: str
) -> None:
    topic = await make_topic()

    async with Producer(address, settings_of(name)) as older:
        older.begin()
        await older.send_and_wait(topic, b"older")
        async with Producer(address, settings_of(name)) as newer:
            async with newer.transaction():
                await newer.send(topic, b"newer")
            with pytest.raises(ApiError) as caught:
                await older.send(topic, b"late")
                await older.commit()
            assert isinstance(caught.value, TransactionFailed | ProducerFailed)
            if isinstance(caught.value, TransactionFailed):
                with pytest.raises(ProducerFailed):
                    await older.abort()
            with pytest.raises(ProducerFailed):
                older.begin()

    assert await values_of(address, topic, read_committed=True) == [b"newer"]


async def test_transaction_with_a_record_that_failed_cannot_commit(
    address: str, make_topic: MakeTopic, name: str
) -> None:
    topic = await make_topic(max_message_bytes=1000)

    async with Producer(address, settings_of(name)) as producer:
        producer.begin()
        await producer.send(topic, b"fits")
        await producer.send(topic, b"x" * 2000)
        with pytest.raises(TransactionFailed):
            await producer.commit()
        await producer.abort()
        async with producer.transaction():
            await producer.send(topic, b"next")

    assert await values_of(address, topic, read_committed=True) == [b"next"]


async def test_block_that_raises_is_aborted(address: str, make_topic: MakeTopic, name: str) -> None:
    topic = await make_topic()

    async with Producer(address, settings_of(name)) as producer:
        with pytest.raises(ZeroDivisionError):
            async with producer.transaction():
                await producer.send(topic, b"half")
                await producer.flush()
                raise ZeroDivisionError
        async with producer.transaction():
            await producer.send(topic, b"whole")

    assert await values_of(address, topic, read_committed=True) == [b"whole"]


async def test_steps_in_the_wrong_order_are_refused(address: str, name: str) -> None:
    async with Producer(address, settings_of(name)) as producer:
        with pytest.raises(ApiError) as caught:
            await producer.send("topic", b"")
        assert caught.value.code == ErrorCode.INVALID_TXN_STATE
        with pytest.raises(ApiError):
            await producer.commit()
        producer.begin()
        with pytest.raises(ApiError):
            producer.begin()
        await producer.commit()
        assert producer._transactions is not None
        assert producer._transactions.state is State.READY


async def test_offsets_of_a_member_that_was_replaced_are_refused(
    address: str, make_topic: MakeTopic, name: str
) -> None:
    topic = await make_topic()
    reading = ConsumerSettings(group_id=name, heartbeat_interval_ms=100)

    async with (
        Consumer(address, reading) as consumer,
        Producer(address, settings_of(name)) as producer,
    ):
        await consumer.subscribe([topic])
        while not consumer.assignment():
            await consumer.poll(timeout_ms=100)
        old = consumer.group_metadata()._replace(generation_id=0)
        producer.begin()
        with pytest.raises(TransactionFailed):
            await producer.send_offsets({TopicPartition(topic, 0): CommittedOffset(1)}, old)
        await producer.abort()
