"""Nodes with several data directories, one of which fails."""

import pytest

from klamm.base.ids import TopicPartition
from klamm.client import Admin, Producer, ProducerSettings
from klamm.client.producer.settings import ALL
from klamm.replication.partition import Partition
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.world import Simulation

FIRST, SECOND = "/data", "/other"
PARTITIONS = 4


def a_cluster(seed: int) -> SimulatedCluster:
    return SimulatedCluster(Simulation(seed), nodes=3, settings={"log.dirs": f"{FIRST},{SECOND}"})


def replica(cluster: SimulatedCluster, node_id: int, partition: int) -> Partition:
    found = cluster.nodes[node_id].broker.replicas.find("topic", partition)
    assert found is not None
    return found


def path_of(cluster: SimulatedCluster, node_id: int, partition: int) -> str:
    replicas = cluster.nodes[node_id].broker.replicas
    return replicas.home_of(replica(cluster, node_id, partition)).path


async def create(cluster: SimulatedCluster) -> None:
    async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
        await admin.topics.create("topic", partitions=PARTITIONS, replication_factor=3)


async def write(cluster: SimulatedCluster, value: bytes) -> None:
    """To each partition."""
    settings = ProducerSettings(acks=ALL)
    async with Producer(cluster.bootstrap, settings, environment=cluster.environment) as producer:
        for partition in range(PARTITIONS):
            await producer.send_and_wait("topic", value, partition=partition)


def knows_directories(cluster: SimulatedCluster) -> bool:
    """The metadata says of each replica where it is."""
    image = cluster.nodes[1].broker.image
    return all(
        image.topics_by_name["topic"].partitions[index].directories[place]
        == cluster.nodes[node_id].broker.replicas.home_of(replica(cluster, node_id, index)).id
        for index in range(PARTITIONS)
        for place, node_id in enumerate(image.topics_by_name["topic"].partitions[index].replicas)
    )


def test_the_controller_knows_in_which_directory_each_replica_is() -> None:
    cluster = a_cluster(1)

    async def work() -> None:
        await create(cluster)
        await cluster.until(lambda: knows_directories(cluster))

    cluster.run(work)
    assert {path_of(cluster, 1, each) for each in range(PARTITIONS)} == {FIRST, SECOND}


def test_a_failed_directory_costs_its_leaderships_and_nothing_else() -> None:
    cluster = a_cluster(2)

    async def work() -> None:
        await create(cluster)
        await cluster.until(lambda: knows_directories(cluster))
        await write(cluster, b"before")
        victim, index = next(
            (node_id, index)
            for index in range(PARTITIONS)
            for node_id in cluster.ids
            if cluster.leader_of("topic", index) == node_id
            and path_of(cluster, node_id, index) == SECOND
        )
        kept = [each for each in range(PARTITIONS) if path_of(cluster, victim, each) == FIRST]

        cluster.machine(victim).disk.fail("pwrite", f"{SECOND}/topic-{index}/{0:020d}.log")
        await write(cluster, b"after")

        assert replica(cluster, victim, index).is_offline
        assert cluster.is_up(victim)
        await cluster.until(
            lambda: all(replica(cluster, victim, each).high_watermark == 2 for each in kept)
        )
        await cluster.until(lambda: are_where_they_should_be(cluster, victim))

    cluster.run(work)


def are_where_they_should_be(cluster: SimulatedCluster, victim: int) -> bool:
    """What lies in the failed directory has left the in-sync replicas, the rest has not."""
    states = cluster.nodes[victim].broker.image.topics_by_name["topic"].partitions
    return all(
        (victim in state.isr) == (path_of(cluster, victim, index) == FIRST) and state.leader != -1
        for index, state in enumerate(states)
    )


@pytest.mark.parametrize("of", ["leader", "follower"])
def test_a_node_whose_only_disk_fails_gives_way_and_nothing_is_lost(of: str) -> None:
    """Its metadata lie there as well."""
    cluster = SimulatedCluster(Simulation(3), nodes=3)
    ended: list[int] = []
    cluster.on_end = ended.append

    async def work() -> None:
        await create(cluster)
        await write(cluster, b"before")
        leader = cluster.leader_of("topic", 0)
        victim = next(each for each in cluster.ids if (each == leader) == (of == "leader"))
        others = [each for each in cluster.ids if each != victim]

        cluster.machine(victim).disk.fail("pwrite")
        await write(cluster, b"after")

        assert cluster.leader_of("topic", 0) in others
        await cluster.until(lambda: victim in ended)
        assert cluster.nodes[victim].has_failed
        await cluster.stop(victim)
        cluster.machine(victim).disk.heal()
        await cluster.start(victim)
        await cluster.until(lambda: all(has_all(cluster, each) for each in cluster.ids))

    cluster.run(work)


def has_all(cluster: SimulatedCluster, node_id: int) -> bool:
    found = [replica(cluster, node_id, index) for index in range(PARTITIONS)]
    return [each.high_watermark for each in found] == [2] * PARTITIONS


def test_a_replica_moves_to_another_directory_while_it_is_written_to() -> None:
    cluster = a_cluster(3)
    moved = TopicPartition("topic", 0)

    async def work() -> None:
        await create(cluster)
        await write(cluster, b"before")
        for node_id in cluster.ids:
            broker = cluster.nodes[node_id].broker
            home = broker.replicas.home_of(replica(cluster, node_id, 0))
            (other,) = [each for each in broker.replicas.directories if each is not home]
            broker.directory_moves.begin(moved, other)
        await write(cluster, b"meanwhile")
        await cluster.until(lambda: not any(is_moving(cluster, each) for each in cluster.ids))
        await write(cluster, b"after")
        await cluster.until(
            lambda: all(replica(cluster, each, 0).high_watermark == 3 for each in cluster.ids)
        )
        await cluster.until(lambda: knows_directories(cluster))

    cluster.run(work)
    assert not cluster.simulation.loop.complaints


def is_moving(cluster: SimulatedCluster, node_id: int) -> bool:
    return cluster.nodes[node_id].broker.directory_moves.is_moving(TopicPartition("topic", 0))
