"""Coordinators that die or move: what was promised is found in the log, and the next one goes on with it. A simulated cluster."""

from __future__ import annotations

import asyncio

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client import (
    Admin,
    CommittedOffset,
    Consumer,
    ConsumerSettings,
    Producer,
    ProducerSettings,
)
from klamm.coordinator.shard import Producer as Producing
from klamm.coordinator.transaction.states import State
from klamm.protocol.records.control import EndMarker
from klamm.server.coordination.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from klamm.server.coordination.markers import write_marker
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.world import Simulation

PARTITIONS = [TopicPartition("topic", index) for index in range(6)]
P0 = PARTITIONS[0]


def a_cluster(seed: int = 1) -> SimulatedCluster:
    return SimulatedCluster(Simulation(seed), nodes=3)


async def create_topic(cluster: SimulatedCluster) -> None:
    async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
        await admin.topics.create("topic", partitions=len(PARTITIONS), replication_factor=3)


def consumer_of(cluster: SimulatedCluster, **settings: object) -> Consumer:
    return Consumer(
        cluster.bootstrap,
        ConsumerSettings(**settings),  # type: ignore[arg-type]
        environment=cluster.environment,
    )


def coordinator_of(cluster: SimulatedCluster, group_id: str) -> int:
    node = cluster.nodes[cluster.living[0]]
    leader = cluster.leader_of(OFFSETS_TOPIC, node.broker.groups.partition_of(group_id))
    assert leader is not None
    return leader


async def committed_of(cluster: SimulatedCluster, group_id: str) -> int:
    async with consumer_of(cluster, group_id=group_id) as consumer:
        return (await consumer.committed([P0]))[P0].offset


def test_the_last_commit_is_there_after_its_coordinator_died() -> None:
    cluster = a_cluster()

    async def work() -> list[int]:
        await create_topic(cluster)
        found = []
        for offset in (5, 7):
            async with consumer_of(cluster, group_id="g") as consumer:
                consumer.assign([P0])
                await consumer.commit({P0: CommittedOffset(offset)})
            dead = coordinator_of(cluster, "g")
            cluster.kill(dead)
            found.append(await committed_of(cluster, "g"))
            await cluster.start(dead)
            await cluster.until(lambda: _is_whole(cluster, OFFSETS_TOPIC))
        return found

    assert cluster.run(work) == [5, 7]
    assert not cluster.simulation.loop.complaints


def _is_whole(cluster: SimulatedCluster, *topics: str) -> bool:
    image = cluster.nodes[cluster.living[0]].broker.image
    return all(
        len(state.isr) == 3 for topic in topics for state in image.topics_by_name[topic].partitions
    )


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_whose_coordinator_dies_goes_on(protocol: str) -> None:
    cluster = a_cluster()

    async def work() -> list[bytes]:
        await create_topic(cluster)
        found: list[bytes] = []
        async with (
            consumer_of(
                cluster, group_id="g", group_protocol=protocol, auto_offset_reset="earliest"
            ) as consumer,
            Producer(cluster.bootstrap, environment=cluster.environment) as producer,
        ):
            await consumer.subscribe(["topic"])
            for text in (b"before", b"after"):
                for each in PARTITIONS:
                    await producer.send(each.topic, text, partition=each.partition)
                await producer.flush()
                while found.count(text) < len(PARTITIONS):
                    found += [each.value or b"" for each in await consumer.poll(timeout_ms=500)]
                await consumer.commit()
                if text == b"before":
                    cluster.kill(coordinator_of(cluster, "g"))
        return found

    assert cluster.run(work) == [b"before"] * 6 + [b"after"] * 6


def test_commits_go_on_while_their_coordinator_moves_from_broker_to_broker() -> None:
    cluster = a_cluster()

    async def work() -> tuple[int, int, set[int]]:
        await create_topic(cluster)
        coordinators: set[int] = set()
        is_over = False

        async def commit() -> int:
            offset = 0
            async with consumer_of(cluster, group_id="g") as consumer:
                consumer.assign([P0])
                while not is_over:
                    offset += 1
                    await consumer.commit({P0: CommittedOffset(offset)})
            return offset

        committing = asyncio.get_running_loop().create_task(commit())
        await cluster.until(lambda: OFFSETS_TOPIC in cluster.nodes[1].broker.image.topics_by_name)
        for _ in range(2):
            coordinators.add(coordinator_of(cluster, "g"))
            await cluster.restart(coordinator_of(cluster, "g"))
            await cluster.until(lambda: _is_whole(cluster, OFFSETS_TOPIC))
        is_over = True
        return await committing, await committed_of(cluster, "g"), coordinators

    last, found, coordinators = cluster.run(work)
    assert (found, len(coordinators)) == (last, 2)
    assert not cluster.simulation.loop.complaints


@pytest.mark.parametrize("state", [State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT])
def test_a_transaction_whose_coordinator_dies_is_ended_by_the_next_as_its_producer_says(
    state: State,
) -> None:
    cluster = a_cluster()

    async def work() -> list[bytes | None]:
        await create_topic(cluster)
        settings = ProducerSettings(transactional_id="tx")
        async with Producer(
            cluster.bootstrap, settings, environment=cluster.environment
        ) as producer:
            producer.begin()
            await write(producer, b"first")
            # Slowly, so that there is a time between the decision and the last marker.
            cluster.simulation.network.weather.latency = 0.05
            end = producer.abort if state is State.PREPARE_ABORT else producer.commit
            ending = asyncio.get_running_loop().create_task(end())
            if state is State.ONGOING:
                ending.cancel()
            index = cluster.nodes[1].broker.transactions.partition_of("tx")
            await cluster.until(lambda: _is_in(cluster, index, state))
            dead = cluster.leader_of(TRANSACTIONS_TOPIC, index)
            assert dead is not None
            cluster.kill(dead)
            cluster.simulation.network.weather.latency = 0.000_5
            await (end() if state is State.ONGOING else ending)
            producer.begin()
            await write(producer, b"second")
            await producer.commit()
        found: list[bytes | None] = []
        async with consumer_of(
            cluster, auto_offset_reset="earliest", read_committed=True
        ) as consumer:
            consumer.assign(PARTITIONS)
            while found.count(b"second") < len(PARTITIONS):
                found += [each.value for each in await consumer.poll(timeout_ms=500)]
        return found

    found = cluster.run(work)
    firsts = 0 if state is State.PREPARE_ABORT else len(PARTITIONS)
    assert (found.count(b"first"), found.count(b"second")) == (firsts, len(PARTITIONS))


def test_transactions_follow_each_other_without_a_pause() -> None:
    """A marker is replicated at once, also one that its coordinator writes because a follower has just fetched."""
    cluster = a_cluster()

    async def work() -> float:
        await create_topic(cluster)
        settings = ProducerSettings(transactional_id="tx")
        async with Producer(
            cluster.bootstrap, settings, environment=cluster.environment
        ) as producer:
            began = cluster.simulation.loop.time()
            for _ in range(10):
                producer.begin()
                await write(producer, b"counts")
                await producer.commit()
            return cluster.simulation.loop.time() - began

    # A follower that has to be asked twice lets half a second pass.
    assert cluster.run(work) < 2


async def write(producer: Producer, value: bytes) -> None:
    for each in PARTITIONS:
        await producer.send(each.topic, value, partition=each.partition)
    await producer.flush()


def _is_in(cluster: SimulatedCluster, index: int, state: State) -> bool:
    """As its coordinator has written it, and perhaps nobody else."""
    leader = cluster.leader_of(TRANSACTIONS_TOPIC, index)
    assert leader is not None
    shards = cluster.nodes[leader].broker.transactions.shards()
    states = [each.transactions["tx"].state for each in shards if "tx" in each.transactions]
    return states == [state]


def test_a_marker_that_only_the_leader_of_its_partition_had_is_written_again_by_the_next() -> None:
    cluster = a_cluster()

    async def work() -> tuple[bool, int, list[bytes | None]]:
        settings = ProducerSettings(transactional_id="tx")
        async with Producer(
            cluster.bootstrap, settings, environment=cluster.environment
        ) as producer:
            index = cluster.nodes[1].broker.transactions.partition_of("tx")
            coordinator = cluster.leader_of(TRANSACTIONS_TOPIC, index)
            assert coordinator is not None
            leader, follower = (each for each in cluster.ids if each != coordinator)
            async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
                await admin.topics.create("topic", replicas={0: [leader, follower]})
            producer.begin()
            await producer.send_and_wait("topic", b"counts", partition=0)

            # The follower hears no more of its leader, which everybody else does.
            network = cluster.simulation.network
            network.cut([cluster.name_of(leader)], [cluster.name_of(follower)])
            await producer.commit()
            partition = cluster.nodes[leader].broker.replicas.get("topic", 0)
            await cluster.until(lambda: partition.log.end_offset == 2)
            was_stable = partition.last_stable_offset > 0
            cluster.kill(leader)
            await cluster.until(lambda: cluster.leader_of("topic", 0) == follower)
            network.heal()
        async with consumer_of(
            cluster, auto_offset_reset="earliest", read_committed=True
        ) as consumer:
            consumer.assign([P0])
            found: list[bytes | None] = []
            while not found:
                found += [each.value for each in await consumer.poll(timeout_ms=500)]
        after = cluster.nodes[follower].broker.replicas.get("topic", 0)
        return was_stable, after.last_stable_offset, found

    was_stable, stable, found = cluster.run(work)
    assert not was_stable, "its end was not replicated"
    assert (stable, found) == (2, [b"counts"])


def test_offsets_of_a_transaction_are_not_told_before_its_marker_is_replicated() -> None:
    cluster = a_cluster()

    async def work() -> tuple[int | None, list[ErrorCode], int]:
        await create_topic(cluster)
        settings = ProducerSettings(transactional_id="tx")
        async with (
            Producer(cluster.bootstrap, settings, environment=cluster.environment) as producer,
            consumer_of(cluster, group_id="g") as consumer,
        ):
            consumer.assign([P0])
            producer.begin()
            await producer.send_offsets({P0: CommittedOffset(5)}, consumer.group_metadata())
            leader = coordinator_of(cluster, "g")
            broker = cluster.nodes[leader].broker
            home = broker.groups.home_of("g")
            (state,) = home.log.producers

            others = [cluster.name_of(each) for each in cluster.ids if each != leader]
            cluster.simulation.network.cut([cluster.name_of(leader)], others)
            told: list[ErrorCode] = []
            write_marker(
                broker,
                home.name,
                EndMarker(True, 0),
                Producing(state.producer_id, state.epoch + 1),
                client_version=2,
                now=broker.clock.wall(),
                told=told.append,
            )
            try:
                early = await asyncio.wait_for(committed_of(cluster, "g"), 2)
            except TimeoutError:
                early = None
            cluster.kill(leader)
            cluster.simulation.network.heal()
            await producer.commit()
            return early, told, await committed_of(cluster, "g")

    assert cluster.run(work) == (None, [], 5)
