"""A broker dies and comes back under working clients; nobody notices but by the clock."""

import asyncio
import shutil
from collections.abc import Iterator

import pytest

from client.conftest import SETTINGS, admin_of
from client.reading import values_of
from klamm.client import Consumer, ConsumerSettings, Producer, ProducerSettings
from klamm.client.backoff import Backoff
from support.brokers import Broker, free_port, start_klamm

QUICK = Backoff(initial_ms=10, max_ms=100)


class Killable:
    """A klamm process on a port of its own, to be killed and started again."""

    def __init__(self) -> None:
        self._port = free_port()
        self.broker: Broker = start_klamm(port=self._port, settings=SETTINGS)

    @property
    def address(self) -> str:
        return self.broker.address

    async def kill_and_restart(self) -> None:
        self.broker.kill()
        self.broker = await asyncio.to_thread(
            start_klamm, home=self.broker.home, port=self._port, settings=SETTINGS
        )

    def end(self) -> None:
        self.broker.kill()
        shutil.rmtree(self.broker.home, ignore_errors=True)


@pytest.fixture
def killable() -> Iterator[Killable]:
    killable = Killable()
    yield killable
    killable.end()


async def test_idempotent_producer_and_group_go_on_after_a_kill(killable: Killable) -> None:
    async with admin_of(killable.address) as admin:
        await admin.topics.create("topic", partitions=2, replication_factor=1)
    producing = ProducerSettings(batch_bytes=300, linger_ms=0, retry_backoff=QUICK)
    reading = ConsumerSettings(
        group_id="group",
        auto_offset_reset="earliest",
        heartbeat_interval_ms=100,
        session_timeout_ms=6000,
        retry_backoff=QUICK,
    )

    seen: list[int] = []
    async with (
        Producer(killable.address, producing) as producer,
        Consumer(killable.address, reading) as consumer,
    ):
        await consumer.subscribe(["topic"])
        deliveries = []
        for number in range(300):
            deliveries.append(await producer.send("topic", b"%d" % number, partition=number % 2))
            if number == 100:
                seen += [int(row.value or b"") for row in await consumer.poll(timeout_ms=2000)]
                await killable.kill_and_restart()
        await asyncio.gather(*deliveries)
        while not set(range(300)) <= set(seen):
            seen += [int(row.value or b"") for row in await consumer.poll(timeout_ms=500)]

    written = [int(value) for value in await values_of(killable.address, "topic")]
    assert written == [*range(0, 300, 2), *range(1, 300, 2)]


async def test_transaction_that_was_open_at_the_kill_commits_after_it(killable: Killable) -> None:
    async with admin_of(killable.address) as admin:
        await admin.topics.create("topic", partitions=1, replication_factor=1)
    settings = ProducerSettings(transactional_id="id", retry_backoff=QUICK)

    async with Producer(killable.address, settings) as producer:
        async with producer.transaction():
            await producer.send("topic", b"1")
        async with producer.transaction():
            await producer.send_and_wait("topic", b"2")
            await killable.kill_and_restart()
            await producer.send("topic", b"3")

    assert await values_of(killable.address, "topic", read_committed=True) == [b"1", b"2", b"3"]
