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
