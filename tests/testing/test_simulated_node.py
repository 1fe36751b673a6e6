"""A whole node, asyncio shell included, in a simulated world: virtual time, crashes, cuts, the same run again."""

import asyncio

import pytest

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import Admin, Consumer, ConsumerSettings, Producer, ProducerSettings
from klamm.testing.disk import Loss
from testing.one_node import ADDRESS, OneNode, time_passes

DAY_MS = 86_400_000


async def write(one: OneNode, *values: bytes) -> None:
    async with Producer(ADDRESS, environment=one.environment) as producer:
        for value in values:
            await producer.send_and_wait("topic", value, partition=0)


async def read(one: OneNode, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    settings = ConsumerSettings(auto_offset_reset="earliest")
    async with Consumer(ADDRESS, settings, environment=one.environment) as consumer:
        consumer.assign([TopicPartition("topic", 0)])
        while len(found) < count:
            found += [record.value for record in await consumer.poll(timeout_ms=1000)]
    return found


def test_days_pass_in_a_moment() -> None:
    one = OneNode()

    async def work() -> list[bytes | None]:
        await write(one, b"first")
        await time_passes(2 * 86_400)
        await write(one, b"second")
        return await read(one, 2)

    assert one.run(work) == [b"first", b"second"]
    assert one.simulation.loop.time() > 2 * 86_400
    assert not one.simulation.loop.complaints


@pytest.mark.parametrize("loss", [Loss.NOTHING, Loss.ALL])
def test_after_a_kill_all_that_was_acknowledged_is_there_and_after_a_power_failure_what_was_synced(
    loss: Loss,
) -> None:
    one = OneNode()

    async def work() -> list[bytes | None]:
        await write(one, b"synced")
        # The scheduled flush and its checkpoint come every minute.
        await time_passes(70)
        await write(one, b"not synced")
        if loss is Loss.NOTHING:
            one.machine.kill()
        else:
            one.machine.power_off(loss)
        await one.start()
        await write(one, b"later")
        return await read(one, 2 if loss is Loss.ALL else 3)

    expected = [b"synced", b"later"] if loss is Loss.ALL else [b"synced", b"not synced", b"later"]
    assert one.run(work) == expected
    assert not one.simulation.loop.complaints


def test_a_crash_runs_no_finally() -> None:
    one = OneNode()
    ended = []

    async def busy() -> None:
        try:
            await time_passes(3600)
        finally:
            ended.append("finally")

    async def work() -> None:
        process = one.machine.process
        assert process is not None
        task = one.simulation.loop.spawn(process, busy())
        await time_passes(1)
        one.machine.kill()
        await time_passes(7200)
        assert not ended
        assert not task.done()

    one.run(work)


def test_a_crash_in_the_middle_of_what_the_disk_does() -> None:
    one = OneNode()

    async def work() -> list[bytes | None]:
        await write(one, b"first")
        one.machine.disk.crash_after(3, lambda: one.machine.power_off(Loss.NOTHING))
        writing = asyncio.ensure_future(write(one, b"second", b"third", b"fourth"))
        while one.machine.process and not one.machine.process.is_dead:
            await time_passes(0.1)
        await one.start()
        await writing
        return await read(one, 4)

    assert one.run(work) == [b"first", b"second", b"third", b"fourth"]
    assert not one.simulation.loop.complaints


@pytest.mark.parametrize("both", [True, False])
def test_a_cut_holds_up_what_is_sent_until_it_heals(both: bool) -> None:
    one = OneNode()

    async def work() -> tuple[float, list[bytes | None]]:
        loop = asyncio.get_running_loop()
        await write(one, b"first")
        one.simulation.network.cut(["node1"], ["client"], both=both)
        loop.call_later(10, one.simulation.network.heal)
        before = loop.time()
        await write(one, b"second")
        return loop.time() - before, await read(one, 2)

    took, found = one.run(work)

    assert took >= 10
    assert found == [b"first", b"second"]


def test_who_is_cut_off_for_long_is_told_that_it_takes_too_long() -> None:
    one = OneNode()

    async def work() -> None:
        async with Producer(
            ADDRESS,
            ProducerSettings(delivery_timeout_ms=40_000, max_block_ms=40_000),
            environment=one.environment,
        ) as producer:
            await producer.send_and_wait("topic", b"first")
            one.simulation.network.cut(["client"], ["node1"])
            with pytest.raises(ApiError):
                await producer.send_and_wait("topic", b"second")
            one.simulation.network.heal()

    one.run(work)


def test_answers_of_any_size_get_through_a_small_window_in_pieces() -> None:
    one = OneNode(message_max_bytes=10_000_000)
    one.simulation.network.window = 3_000
    one.simulation.network.weather.pieces = 0.7
    large = bytes(range(256)) * 4_000

    async def work() -> list[bytes | None]:
        settings = ProducerSettings(max_request_bytes=2_000_000, batch_bytes=2_000_000)
        async with Producer(ADDRESS, settings, environment=one.environment) as producer:
            await producer.send_and_wait("topic", large, partition=0)
        return await read(one, 1)

    assert one.run(work) == [large]


@pytest.mark.parametrize("days", [-300, 300])
def test_who_sets_the_clock_of_a_node_ends_no_session_and_wakes_nobody(days: int) -> None:
    one = OneNode(group_initial_rebalance_delay_ms=0)

    async def work() -> tuple[int, int]:
        await write(one, b"first")
        settings = ConsumerSettings(group_id="group", auto_offset_reset="earliest")
        async with Consumer(ADDRESS, settings, environment=one.environment) as consumer:
            await consumer.subscribe(["topic"])
            while not await consumer.poll(timeout_ms=1000):
                pass
            before = consumer.group_metadata().generation_id
            one.machine.clock.wall_error_ms += days * DAY_MS
            end = asyncio.get_running_loop().time() + 300
            while asyncio.get_running_loop().time() < end:
                await consumer.poll(timeout_ms=1000)
            return before, consumer.group_metadata().generation_id

    before, after = one.run(work)

    assert before == after
    assert not one.simulation.loop.complaints


def test_a_node_stops_cleanly_and_comes_again() -> None:
    one = OneNode()

    async def work() -> list[bytes | None]:
        async with Admin(ADDRESS, environment=one.environment) as admin:
            await admin.topics.create("topic", partitions=1, replication_factor=1)
        await write(one, b"first")
        await one.stop()
        await one.start()
        await write(one, b"second")
        return await read(one, 2)

    assert one.run(work) == [b"first", b"second"]
    assert not one.simulation.loop.complaints


def test_a_producer_does_not_storm_a_broker_that_is_down() -> None:
    one = OneNode()

    async def work() -> int:
        async with Admin(ADDRESS, environment=one.environment) as admin:
            await admin.topics.create("topic", partitions=1, replication_factor=1)
        async with Producer(ADDRESS, environment=one.environment) as producer:
            await producer.send_and_wait("topic", b"first")
            one.machine.kill()
            delivery = await producer.send("topic", b"second")
            before = one.simulation.network.attempts
            await time_passes(60)
            attempts = one.simulation.network.attempts - before
            await one.start()
            await delivery
        return attempts

    assert one.run(work) < 60 * 25


def test_several_nodes_share_a_world_and_nothing_else() -> None:
    one = OneNode()
    two = OneNode(simulation=one.simulation, machine="node2")

    async def work() -> tuple[list[str], list[str]]:
        await two.start()
        two.machine.clock.wall_error_ms = -DAY_MS
        assert two.machine.clock.wall() == one.machine.clock.wall() - DAY_MS
        for address, name in ((ADDRESS, "of-one"), ("node2:9092", "of-two")):
            async with Admin(address, environment=one.environment) as admin:
                await admin.topics.create(name, partitions=1, replication_factor=1)
        one.simulation.network.cut(["node2"], ["client"])
        one.machine.power_off()
        await one.start()
        async with Admin(ADDRESS, environment=one.environment) as admin:
            first = [topic.name for topic in await admin.topics.list()]
        one.simulation.network.heal()
        async with Admin("node2:9092", environment=one.environment) as admin:
            second = [topic.name for topic in await admin.topics.list()]
        return first, second

    assert one.run(work) == (["of-one"], ["of-two"])
    assert not one.simulation.loop.complaints
