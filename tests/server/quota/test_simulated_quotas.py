"""Clients with quotas on virtual time: who asks for too much is slowed down to its rate, and nobody else is."""

import asyncio

from klamm.base.ids import TopicPartition
from klamm.client import (
    Admin,
    Consumer,
    ConsumerSettings,
    Producer,
    ProducerSettings,
)
from klamm.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from klamm.server.peers.channel import PeerChannel
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.world import Simulation

RATE = 100_000
TOPIC = "measured"


def a_node() -> SimulatedCluster:
    return SimulatedCluster(Simulation(5), nodes=1)


async def set_quota(cluster: SimulatedCluster, client_id: str | None, **quotas: float) -> None:
    world = cluster.simulation.machine("client").world
    channel = PeerChannel(world, cluster.name_of(1), 9092, client_id="admin")
    entity = [EntityData(entity_type="client-id", entity_name=client_id)]
    ops = [OpData(key=key, value=value) for key, value in quotas.items()]
    entry = AlterClientQuotasRequestEntryData(entity=entity, ops=ops)
    answer = await channel.ask(AlterClientQuotasRequest(entries=[entry]))
    assert not answer.entries[0].error_code
    channel.close()


async def write(cluster: SimulatedCluster, client_id: str, count: int) -> float:
    """So many records of ten kilobytes, one after the other; how many seconds it took."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    settings = ProducerSettings(client_id=client_id)
    async with Producer(cluster.bootstrap, settings, environment=cluster.environment) as producer:
        for _ in range(count):
            await producer.send_and_wait(TOPIC, bytes(10_000))
    return loop.time() - begun


async def read(cluster: SimulatedCluster, client_id: str, count: int) -> float:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    settings = ConsumerSettings(client_id=client_id, auto_offset_reset="earliest")
    async with Consumer(cluster.bootstrap, settings, environment=cluster.environment) as consumer:
        consumer.assign([TopicPartition(TOPIC, 0)])
        async for _ in consumer:
            count -= 1
            if not count:
                break
    return loop.time() - begun


async def create_topic(cluster: SimulatedCluster) -> None:
    async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
        await admin.topics.create(TOPIC, partitions=1, replication_factor=1)


def test_a_producer_goes_as_fast_as_its_quota_and_others_as_they_like() -> None:
    cluster = a_node()

    async def work() -> tuple[float, float]:
        await create_topic(cluster)
        await set_quota(cluster, "slow", producer_byte_rate=RATE)
        return await write(cluster, "slow", 400), await write(cluster, "quick", 400)

    slow, quick = cluster.run(work)

    # Four megabytes, the first of which may come at once.
    assert 27 < slow < 44
    assert quick < 5


def test_a_consumer_goes_as_fast_as_its_quota() -> None:
    cluster = a_node()

    async def work() -> tuple[float, float]:
        await create_topic(cluster)
        await write(cluster, "writer", 400)
        await set_quota(cluster, None, consumer_byte_rate=RATE)
        return await read(cluster, "slow", 400), await write(cluster, "writer", 10)

    reading, writing = cluster.run(work)

    assert 27 < reading < 44
    assert writing < 1


def test_quotas_that_are_gone_slow_nobody_down() -> None:
    cluster = a_node()

    async def work() -> float:
        await create_topic(cluster)
        await set_quota(cluster, "slow", producer_byte_rate=RATE)
        await set_quota(cluster, "slow", producer_byte_rate=RATE * 1000)
        return await write(cluster, "slow", 400)

    assert cluster.run(work) < 5
