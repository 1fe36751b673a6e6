"""Partitions of a simulated cluster are replicated: acknowledged records survive their leaders, ISRs shrink and grow."""

import pytest

from klamm.base.ids import TopicPartition
from klamm.client import Admin, Consumer, Producer
from klamm.client.serializers import Bytes
from klamm.replication.partition import Partition
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.world import Simulation

TOPIC = "topic"
P0 = TopicPartition(TOPIC, 0)


def a_cluster(*, seed: int = 1, **settings: object) -> SimulatedCluster:
    return SimulatedCluster(
        Simulation(seed), settings={name.replace("_", "."): v for name, v in settings.items()}
    )


async def create(cluster: SimulatedCluster, **configs: str) -> None:
    async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
        await admin.topics.create(
            TOPIC,
            partitions=1,
            replication_factor=3,
            configs={name.replace("_", "."): value for name, value in configs.items()},
        )
    await cluster.until(lambda: all(replica_on(cluster, each) is not None for each in cluster.ids))


def replica_on(cluster: SimulatedCluster, node_id: int) -> Partition | None:
    return cluster.nodes[node_id].broker.replicas.find(*P0)


def leader(cluster: SimulatedCluster) -> int:
    found = cluster.leader_of(*P0)
    assert found is not None
    return found


def isr(cluster: SimulatedCluster) -> tuple[int, ...]:
    found = cluster.nodes[leader(cluster)].broker.image.partition(*P0)
    assert found is not None
    return found.isr


def ends(cluster: SimulatedCluster) -> list[tuple[int, int]]:
    """(high watermark, log end) of each living replica."""
    found = [replica_on(cluster, each) for each in cluster.living]
    return [(each.high_watermark, each.log.end_offset) for each in found if each is not None]


async def read_all(cluster: SimulatedCluster, count: int) -> list[bytes | None]:
    values: list[bytes | None] = []
    async with Consumer(cluster.bootstrap, environment=cluster.environment) as consumer:
        consumer.assign([P0])
        consumer.seek(P0, 0)
        while len(values) < count:
            values += [record.value for record in await consumer.poll(timeout_ms=1000)]
    return values


def a_producer(cluster: SimulatedCluster) -> Producer[Bytes, Bytes]:
    return Producer(cluster.bootstrap, environment=cluster.environment)


def test_all_replicas_have_what_was_acknowledged() -> None:
    cluster = a_cluster()

    async def work() -> None:
        await create(cluster)
        async with a_producer(cluster) as producer:
            for number in range(20):
                await producer.send_and_wait(TOPIC, b"%d" % number)
        assert [end for _, end in ends(cluster)] == [20, 20, 20]
        await cluster.until(lambda: ends(cluster) == [(20, 20)] * 3, seconds=1)
        assert await read_all(cluster, 20) == [b"%d" % number for number in range(20)]

    cluster.run(work)
    assert not cluster.simulation.loop.complaints


@pytest.mark.parametrize("seed", range(3))
def test_what_was_acknowledged_survives_its_leader(seed: int) -> None:
    cluster = a_cluster(seed=seed)

    async def work() -> None:
        await create(cluster, min_insync_replicas="2")
        sent: list[bytes] = []
        async with a_producer(cluster) as producer:
            for number in range(60):
                if number == 20:
                    first = leader(cluster)
                    cluster.kill(first)
                if number == 40:
                    await cluster.start(first)
                value = b"%d" % number
                await producer.send_and_wait(TOPIC, value)
                sent.append(value)
        assert await read_all(cluster, len(sent)) == sent
        await cluster.until(lambda: len(isr(cluster)) == 3, seconds=10)
        await cluster.until(lambda: ends(cluster) == [(60, 60)] * 3, seconds=5)

    cluster.run(work)
    assert not cluster.simulation.loop.complaints


def test_a_follower_that_is_cut_off_leaves_the_isr_and_comes_back() -> None:
    cluster = a_cluster(replica_lag_time_max_ms=2000, broker_session_timeout_ms=60000)

    async def work() -> None:
        await create(cluster)
        async with a_producer(cluster) as producer:
            await producer.send_and_wait(TOPIC, b"0")
            lost = next(each for each in cluster.ids if each != leader(cluster))
            cluster.simulation.network.cut(
                [cluster.name_of(lost)], [cluster.name_of(leader(cluster))]
            )
            await producer.send_and_wait(TOPIC, b"1")
            assert lost not in isr(cluster)
            cluster.simulation.network.heal()
            await cluster.until(lambda: len(isr(cluster)) == 3, seconds=20)
        await cluster.until(lambda: ends(cluster) == [(2, 2)] * 3, seconds=1)

    cluster.run(work)
