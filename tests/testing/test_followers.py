"""Followers copy their leaders, byte for byte: through deaths, cuts and lost disks."""

from collections.abc import Awaitable, Callable

import pytest

from klamm.base.ids import TopicPartition
from klamm.client import Admin, Producer, ProducerSettings
from klamm.client.admin.configs import ResourceKind
from klamm.client.producer.settings import ALL
from klamm.protocol.records.batch import batches
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.replication.partition import Partition
from klamm.server.loops.housekeeping import Housekeeping
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.disk import Loss
from klamm.testing.world import Simulation
from testing.one_node import time_passes

TOPIC_0 = TopicPartition("topic", 0)
# A broker that says nothing is fenced soon.
QUICK = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}


def replica(cluster: SimulatedCluster, node_id: int, partition: int = 0) -> Partition:
    found = cluster.nodes[node_id].broker.replicas.find("topic", partition)
    assert found is not None
    return found


def committed_bytes(cluster: SimulatedCluster, node_id: int) -> bytes:
    """Of all segments."""
    partition = replica(cluster, node_id)
    data, offset = b"", partition.log.start_offset
    while offset < partition.high_watermark:
        found = partition.log.read(offset, 1 << 30, up_to=partition.high_watermark)
        if found is None:
            break
        part = found.read()
        data += part
        offset = [header.last_offset for header, _ in batches(part)][-1] + 1
    return data


def are_equal(cluster: SimulatedCluster, count: int) -> bool:
    """All living replicas have so many committed records, and their bytes are the same."""
    if any(replica(cluster, each).high_watermark != count for each in cluster.living):
        return False
    return len({committed_bytes(cluster, each) for each in cluster.living}) == 1


async def create(cluster: SimulatedCluster, **configs: str) -> None:
    async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
        await admin.topics.create("topic", partitions=1, replication_factor=3, configs=configs)


async def write(cluster: SimulatedCluster, *values: bytes, acks: int = ALL) -> None:
    settings = ProducerSettings(acks=acks, idempotence=acks == ALL)
    async with Producer(cluster.bootstrap, settings, environment=cluster.environment) as producer:
        for value in values:
            await producer.send_and_wait("topic", value, partition=0)


def leader_of(cluster: SimulatedCluster) -> int:
    leader = cluster.leader_of("topic", 0)
    assert leader is not None
    return leader


def run(
    seed: int, story: Callable[[SimulatedCluster], Awaitable[None]], **settings: object
) -> None:
    cluster = SimulatedCluster(Simulation(seed), nodes=3, settings={**QUICK, **settings})

    async def work() -> None:
        await create(cluster)
        await story(cluster)

    cluster.run(work)
    assert not cluster.simulation.loop.complaints


def test_followers_have_what_the_leader_has() -> None:
    async def story(cluster: SimulatedCluster) -> None:
        await write(cluster, *(b"%d" % each for each in range(20)))

        await cluster.until(lambda: are_equal(cluster, 20))

    run(1, story)


def test_a_follower_that_was_away_catches_up() -> None:
    async def story(cluster: SimulatedCluster) -> None:
        await write(cluster, b"before")
        away = next(each for each in cluster.ids if each != leader_of(cluster))
        cluster.kill(away)
        await write(cluster, *(b"%d" % each for each in range(50)))
        await cluster.start(away)

        await cluster.until(lambda: are_equal(cluster, 51))

    run(2, story)


@pytest.mark.parametrize("seed", range(3))
def test_a_leader_that_was_cut_off_cuts_what_the_others_never_had(seed: int) -> None:
    async def story(cluster: SimulatedCluster) -> None:
        await write(cluster, b"common")
        old = leader_of(cluster)
        others = [cluster.name_of(each) for each in cluster.ids if each != old]
        cluster.simulation.network.cut([cluster.name_of(old)], others)
        # Nobody but the old leader knows this one: acks=1 promises no more.
        await write(cluster, *(b"lost %d" % each for each in range(5)), acks=1)
        lost = replica(cluster, old).log.end_offset
        alive = next(each for each in cluster.ids if each != old)
        await cluster.until(
            lambda: cluster.nodes[alive].broker.image.partition("topic", 0).leader not in (old, -1)  # type: ignore[union-attr]
        )
        cluster.simulation.network.cut(["client"], [cluster.name_of(old)])
        await write(cluster, b"kept", b"kept, too")
        cluster.simulation.network.heal()

        await cluster.until(lambda: are_equal(cluster, 3))
        assert lost == 6
        assert b"lost" not in committed_bytes(cluster, old)
        assert replica(cluster, old).log.end_offset == 3

    run(seed, story)


def test_a_follower_whose_disk_was_emptied_is_filled_again() -> None:
    async def story(cluster: SimulatedCluster) -> None:
        await write(cluster, *(b"%d" % each for each in range(10)))
        empty = next(each for each in cluster.ids if each != leader_of(cluster))
        cluster.kill(empty)
        disk = cluster.machine(empty).disk
        disk.rmtree("/data/topic-0")
        await cluster.start(empty)

        await cluster.until(lambda: are_equal(cluster, 10))

    run(4, story)


def test_a_follower_whose_log_was_damaged_is_filled_again() -> None:
    """Below the recovery point, where nothing is cut: it is set aside."""

    async def story(cluster: SimulatedCluster) -> None:
        await write(cluster, *(b"%d" % each for each in range(10)))
        hurt = next(each for each in cluster.ids if each != leader_of(cluster))
        home = cluster.nodes[hurt].broker.replicas.home_of(replica(cluster, hurt))
        await cluster.until(lambda: home.recovery_points.get(TOPIC_0) == 10, 120)
        cluster.kill(hurt)
        await cluster.until(lambda: hurt not in replica(cluster, leader_of(cluster)).isr)
        file = cluster.machine(hurt).disk.open(f"/data/topic-0/{0:020d}.log")
        file.pwrite(b"\xff", 8)
        await cluster.start(hurt)

        await cluster.until(lambda: are_equal(cluster, 10))
        aside = [each for each in cluster.machine(hurt).disk.listdir("/data") if "stray" in each]
        assert len(aside) == 1

    run(6, story)


def test_a_follower_that_comes_back_when_the_leader_has_deleted_all_it_had_begins_anew() -> None:
    async def story(cluster: SimulatedCluster) -> None:
        await write(cluster, *(b"%d" % each for each in range(10)))
        away = next(each for each in cluster.ids if each != leader_of(cluster))
        await cluster.until(lambda: are_equal(cluster, 10))
        cluster.kill(away)
        await write(cluster, *(b"%d" % each for each in range(10)))
        async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
            await admin.records.delete({TopicPartition("topic", 0): 15})
        await cluster.start(away)

        await cluster.until(lambda: are_equal(cluster, 20))
        assert replica(cluster, away).log.start_offset == 15

    run(5, story)


@pytest.mark.parametrize("seed", range(4))
def test_after_a_power_failure_of_the_leader_all_replicas_become_equal(seed: int) -> None:
    async def story(cluster: SimulatedCluster) -> None:
        await write(cluster, *(b"%d" % each for each in range(10)))
        old = leader_of(cluster)
        cluster.power_off(old)
        await cluster.until(lambda: cluster.leader_of("topic", 0) not in (old, None))
        await write(cluster, *(b"%d" % each for each in range(10, 15)))
        await cluster.start(old)

        await cluster.until(lambda: are_equal(cluster, 15))

    run(seed, story)


@pytest.mark.parametrize("seed", range(6))
def test_what_all_have_synced_survives_when_all_machines_lose_power(seed: int) -> None:
    """flush.messages holds for followers, too: whoever leads first has what was acknowledged."""

    async def story(cluster: SimulatedCluster) -> None:
        async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
            await admin.configs.set(ResourceKind.TOPIC, "topic", {"flush.messages": "1"})
        await cluster.until(
            lambda: all(replica(cluster, each).settings.flush_messages == 1 for each in cluster.ids)
        )
        await write(cluster, *(b"%d" % each for each in range(10)))
        for each in cluster.ids:
            cluster.power_off(each, Loss.ALL)
        await cluster.start_all()

        await cluster.until(lambda: are_equal(cluster, 10))

    run(seed, story)


def is_followed(partition: Partition) -> bool:
    """All followers have fetched, and have what there is."""
    leadership, end = partition.leadership, partition.log.end_offset
    return leadership is not None and all(
        each.end_offset == end for each in leadership.followers.values()
    )


def test_a_batch_for_which_an_answer_had_no_room_comes_with_the_next() -> None:
    """Nothing grows after it, and a follower does not ask again for what it has not heard of."""

    async def story(cluster: SimulatedCluster) -> None:
        async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
            await admin.topics.create("two", replicas={0: [1, 2, 3], 1: [1, 2, 3]})
        await cluster.until(lambda: cluster.leader_of("two", 1) == 1)
        broker = cluster.nodes[1].broker
        pair = [broker.replicas.get("two", each) for each in (0, 1)]
        await cluster.until(lambda: all(map(is_followed, pair)))

        for partition in pair:
            batch = build_batch([Record(timestamp=broker.clock.wall(), value=bytes(800))])
            partition.append(batch, acks=1, now=broker.clock.wall())
        cluster.simulation.loop.call_soon(lambda: [broker.appended(each) for each in pair])

        await cluster.until(lambda: [each.high_watermark for each in pair] == [1, 1], 10)

    run(1, story, **{"replica.fetch.response.max.bytes": 1000})


def test_followers_hear_that_retention_has_moved_the_start_of_a_log() -> None:
    """Also of a topic that nobody writes to any more. Their own retention comes later."""
    late = {"log.retention.check.interval.ms": 1 << 50, "log.initial.task.delay.ms": 1 << 50}
    cluster = SimulatedCluster(Simulation(1), settings=late)

    async def work() -> None:
        await create(cluster, **{"retention.bytes": "1000", "internal.segment.bytes": "600"})
        await write(cluster, *(b"%d" % each * 100 for each in range(10, 30)))
        await cluster.until(lambda: are_equal(cluster, 20))
        leader = cluster.leader_of("topic", 0)
        assert leader is not None

        housekeeping = Housekeeping(cluster.nodes[leader].broker)
        # What segments say of producers must be on disk before they go.
        while not replica(cluster, leader).log.start_offset:
            await housekeeping.flush()
            await time_passes(1)
            await housekeeping.retain()

        start = replica(cluster, leader).log.start_offset
        await cluster.until(
            lambda: all(replica(cluster, each).log.start_offset == start for each in cluster.ids), 5
        )

    cluster.run(work)
