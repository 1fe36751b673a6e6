"""Groups and transactions whose parts are on different brokers, in a simulated cluster. Each partition has one replica."""

from __future__ import annotations

import asyncio

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
from klamm.protocol.messages.describe_cluster import DescribeClusterRequest
from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from klamm.server.peers.channel import PeerChannel
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.world import Simulation

PARTITIONS = [TopicPartition("topic", index) for index in range(6)]
ONE_REPLICA = {
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "default.replication.factor": 1,
}


def a_cluster(seed: int = 1, **settings: object) -> SimulatedCluster:
    texts = {name.replace("_", "."): value for name, value in settings.items()}
    return SimulatedCluster(Simulation(seed), nodes=3, settings={**ONE_REPLICA, **texts})


async def create_topic(cluster: SimulatedCluster) -> None:
    async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
        await admin.topics.create("topic", partitions=len(PARTITIONS), replication_factor=1)
    leaders = {cluster.leader_of(*each) for each in PARTITIONS}
    assert leaders == {1, 2, 3}


def producer_of(cluster: SimulatedCluster, name: str) -> Producer:
    settings = ProducerSettings(transactional_id=name)
    return Producer(cluster.bootstrap, settings, environment=cluster.environment)


async def write(producer: Producer, text: str) -> None:
    for each in PARTITIONS:
        await producer.send(each.topic, text.encode(), partition=each.partition)


async def committed(cluster: SimulatedCluster, count: int) -> list[tuple[int, bytes | None]]:
    """The first so many records that count, by partition."""
    settings = ConsumerSettings(auto_offset_reset="earliest", read_committed=True)
    found: list[tuple[int, bytes | None]] = []
    async with Consumer(cluster.bootstrap, settings, environment=cluster.environment) as consumer:
        consumer.assign(PARTITIONS)
        while len(found) < count:
            found += [(each.partition, each.value) for each in await consumer.poll(timeout_ms=1000)]
    return sorted(found)


def test_a_transaction_over_partitions_of_three_brokers_counts_as_a_whole() -> None:
    cluster = a_cluster()

    async def work() -> list[tuple[int, bytes | None]]:
        await create_topic(cluster)
        # Several ids: their coordinators are on different brokers, too.
        for name in ("a", "b", "c"):
            async with producer_of(cluster, name) as producer:
                producer.begin()
                await write(producer, f"aborted {name}")
                await producer.abort()
                producer.begin()
                await write(producer, f"committed {name}")
                await producer.commit()
        return await committed(cluster, 3 * len(PARTITIONS))

    texts = [b"committed a", b"committed b", b"committed c"]
    assert cluster.run(work) == sorted((p.partition, text) for p in PARTITIONS for text in texts)
    assert not cluster.simulation.loop.complaints


def test_offsets_are_committed_with_the_transaction_whoever_coordinates_the_group() -> None:
    cluster = a_cluster()

    async def work() -> dict[str, int]:
        await create_topic(cluster)
        found = {}
        for group in ("g", "h", "i", "j"):
            settings = ConsumerSettings(group_id=group)
            async with (
                producer_of(cluster, "tx") as producer,
                Consumer(cluster.bootstrap, settings, environment=cluster.environment) as consumer,
            ):
                consumer.assign([PARTITIONS[0]])
                for offset in (3, 5):
                    producer.begin()
                    await write(producer, group)
                    await producer.send_offsets(
                        {PARTITIONS[0]: CommittedOffset(offset)}, consumer.group_metadata()
                    )
                    await (producer.commit() if offset == 3 else producer.abort())
                position = (await consumer.committed([PARTITIONS[0]]))[PARTITIONS[0]]
                assert position is not None
                found[group] = position.offset
        return found

    assert cluster.run(work) == {"g": 3, "h": 3, "i": 3, "j": 3}
    assert not cluster.simulation.loop.complaints


def test_an_idempotent_producer_gets_an_id_from_any_broker() -> None:
    cluster = a_cluster()

    async def work() -> int:
        await create_topic(cluster)
        producer = Producer(cluster.bootstrap, environment=cluster.environment)
        async with producer:
            await write(producer, "once")
        ids = [cluster.nodes[each].broker.producer_ids.take() for each in cluster.ids]
        return len(ids)

    assert cluster.run(work) == 3


def test_a_topic_of_the_coordinators_that_has_too_few_brokers_is_created_when_there_are_enough() -> (
    None
):
    cluster = SimulatedCluster(
        Simulation(1), nodes=3, roles="xbb", settings={"offsets.topic.replication.factor": 3}
    )

    async def work() -> list[int]:
        world = cluster.simulation.machine("client").world
        channel = PeerChannel(world, cluster.name_of(1), 9092, client_id="client")
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
        codes = [(await channel.ask(request)).coordinators[0].error_code]
        await cluster.start(3)
        codes.append((await channel.ask(request)).coordinators[0].error_code)
        channel.close()
        return codes

    async def with_two() -> list[int]:
        await asyncio.gather(cluster.start(1), cluster.start(2))
        return await work()

    cluster.simulation.machine("client").environment()
    codes = cluster.simulation.loop.run(asyncio.wait_for(with_two(), 1_000))
    assert codes == [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE]


def test_each_broker_tells_of_all_and_the_controllers_listener_of_controllers() -> None:
    cluster = a_cluster()

    def know_all() -> bool:
        images = [node.broker.image for node in cluster.nodes.values()]
        return all(
            len(image.controllers) == 3 and not any(b.is_fenced for b in image.brokers.values())
            for image in images
        )

    async def work() -> None:
        await cluster.until(know_all)
        world = cluster.simulation.machine("client").world
        for node_id in cluster.ids:
            for port, kind in ((9092, 1), (9093, 2)):
                channel = PeerChannel(world, cluster.name_of(node_id), port, client_id="client")
                found = await channel.ask(DescribeClusterRequest(endpoint_type=kind))
                ports = {each.port for each in found.brokers}
                assert sorted(each.broker_id for each in found.brokers) == cluster.ids
                assert (found.error_code, ports) == (0, {port})
                assert found.controller_id in cluster.ids
                channel.close()

    cluster.run(work)
