"""Whole nodes that are one cluster, in a simulated world."""

from klamm.base.ids import TopicPartition
from klamm.client import Admin, Consumer, ConsumerSettings, Producer
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.world import Simulation


async def write(cluster: SimulatedCluster, *values: bytes) -> None:
    async with Producer(cluster.bootstrap, environment=cluster.environment) as producer:
        for value in values:
            await producer.send_and_wait("topic", value, partition=0)


async def read(cluster: SimulatedCluster, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    settings = ConsumerSettings(auto_offset_reset="earliest")
    async with Consumer(cluster.bootstrap, settings, environment=cluster.environment) as consumer:
        consumer.assign([TopicPartition("topic", 0)])
        while len(found) < count:
            found += [record.value for record in await consumer.poll(timeout_ms=1000)]
    return found


async def create(cluster: SimulatedCluster, replicas: int) -> None:
    async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
        await admin.topics.create("topic", partitions=1, replication_factor=replicas)


def test_a_cluster_of_one_writes_and_reads() -> None:
    cluster = SimulatedCluster(Simulation(1), nodes=1)

    async def work() -> list[bytes | None]:
        await create(cluster, 1)
        await write(cluster, b"one", b"two")
        cluster.kill(1)
        await cluster.start(1)
        return await read(cluster, 2)

    assert cluster.run(work) == [b"one", b"two"]
    assert not cluster.simulation.loop.complaints


def test_three_nodes_boot_and_a_topic_made_at_one_is_known_to_all() -> None:
    cluster = SimulatedCluster(Simulation(1))

    async def work() -> list[int | None]:
        await create(cluster, 3)
        await cluster.until(lambda: all(_knows(cluster, each) for each in cluster.ids))
        return [cluster.leader_of("topic", 0)]

    assert cluster.run(work)[0] in (1, 2, 3)
    assert not cluster.simulation.loop.complaints


def _knows(cluster: SimulatedCluster, node_id: int) -> bool:
    return cluster.nodes[node_id].broker.image.partition("topic", 0) is not None


def test_a_leader_dies_and_what_it_acknowledged_is_read_from_another() -> None:
    cluster = SimulatedCluster(Simulation(2), settings={"min.insync.replicas": 2})

    async def work() -> list[bytes | None]:
        await create(cluster, 3)
        await write(cluster, b"one", b"two")
        leader = cluster.leader_of("topic", 0)
        assert leader is not None
        cluster.kill(leader)
        await write(cluster, b"three")
        found = await read(cluster, 3)
        await cluster.start(leader)
        await cluster.until(lambda: len(_isr(cluster)) == 3)
        return found

    assert cluster.run(work) == [b"one", b"two", b"three"]
    assert not cluster.simulation.loop.complaints


def _isr(cluster: SimulatedCluster) -> tuple[int, ...]:
    found = cluster.nodes[cluster.living[0]].broker.image.partition("topic", 0)
    assert found is not None
    return found.isr
