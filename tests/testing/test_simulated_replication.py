"""Partitions of a simulated cluster are replicated: acknowledged records survive their leaders, ISRs shrink and grow."""

import asyncio

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.client import Admin, Consumer, Producer
from klamm.client.cluster import Cluster
from klamm.client.serializers import Bytes
from klamm.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from klamm.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from klamm.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from klamm.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.replication.partition import Partition
from klamm.replication.replica_selector import RACK_AWARE
from klamm.server.peers.channel import PeerChannel
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


# -- acks=all, asked by hand --------------------------------------------------------------------------------------------


async def a_client(cluster: SimulatedCluster) -> Cluster:
    client = Cluster(cluster.bootstrap, environment=cluster.environment)
    await client.refresh([TOPIC])
    return client


async def produce(cluster: SimulatedCluster, client: Cluster, *, timeout_ms: int = 1000) -> int:
    """The error code of one record with acks=all, sent to the leader."""
    batch = build_batch([Record(timestamp=1, value=b"v")])
    data = PartitionProduceData(index=0, records=batch)
    topic = TopicProduceData(name=TOPIC, topic_id=topic_id(cluster), partition_data=[data])
    request = ProduceRequest(acks=-1, timeout_ms=timeout_ms, topic_data=[topic])
    answer = await client.ask(leader(cluster), request, ProduceResponse)
    return int(answer.responses[0].partition_responses[0].error_code)


def cut_off_followers(cluster: SimulatedCluster) -> None:
    """From the leader of the partition. The controller still hears them."""
    first = leader(cluster)
    others = [cluster.name_of(each) for each in cluster.ids if each != first]
    cluster.simulation.network.cut([cluster.name_of(first)], others)


def test_who_waits_for_followers_in_vain_is_told_after_its_timeout() -> None:
    cluster = a_cluster()

    async def work() -> None:
        await create(cluster)
        client = await a_client(cluster)
        assert await produce(cluster, client) == ErrorCode.NONE
        cut_off_followers(cluster)
        began = cluster.simulation.loop.time()
        assert await produce(cluster, client, timeout_ms=700) == ErrorCode.REQUEST_TIMED_OUT
        assert 0.7 <= cluster.simulation.loop.time() - began < 0.8
        client.close()

    cluster.run(work)


@pytest.mark.parametrize("configs", [{}, {"flush_messages": "1"}], ids=["straight", "handled"])
def test_nobody_waits_for_a_client_that_is_gone(configs: dict[str, str]) -> None:
    cluster = a_cluster()

    async def work() -> None:
        await create(cluster, **configs)
        client = await a_client(cluster)
        cut_off_followers(cluster)
        acks = cluster.nodes[leader(cluster)].broker.waiting.acks
        asked = asyncio.create_task(produce(cluster, client, timeout_ms=2**31 - 1))
        await cluster.until(lambda: len(acks) == 1)
        client.close()
        await cluster.until(lambda: not len(acks), seconds=5)
        assert acks.deadlines.next is None
        await asyncio.gather(asked, return_exceptions=True)

    cluster.run(work)


def test_with_too_few_in_sync_nothing_is_appended() -> None:
    cluster = a_cluster()

    async def work() -> None:
        await create(cluster, min_insync_replicas="3")
        client = await a_client(cluster)
        assert await produce(cluster, client) == ErrorCode.NONE
        cluster.kill(next(each for each in cluster.ids if each != leader(cluster)))
        await cluster.until(lambda: len(isr(cluster)) == 2, seconds=5)
        assert await produce(cluster, client) == ErrorCode.NOT_ENOUGH_REPLICAS
        assert [end for _, end in ends(cluster)] == [1, 1]
        client.close()

    cluster.run(work)


def test_deleted_records_are_deleted_on_all_replicas_before_it_is_said() -> None:
    cluster = a_cluster()

    async def work() -> None:
        await create(cluster)
        async with a_producer(cluster) as producer:
            for _ in range(5):
                await producer.send_and_wait(TOPIC, b"v")
        async with Admin(cluster.bootstrap, environment=cluster.environment) as admin:
            assert await admin.records.delete({P0: 3}) == {P0: 3}
        starts = [replica_on(cluster, each) for each in cluster.ids]
        assert [each.log.start_offset for each in starts if each is not None] == [3, 3, 3]

    cluster.run(work)


def test_a_consumer_is_sent_to_the_follower_in_its_rack_and_reads_there() -> None:
    cluster = SimulatedCluster(
        Simulation(1),
        settings={"replica.selector.class": RACK_AWARE},
        of_node=lambda node_id: {"broker.rack": f"rack{node_id}"},
    )

    async def work() -> None:
        await create(cluster)
        async with a_producer(cluster) as producer:
            await producer.send_and_wait(TOPIC, b"v")
        await cluster.until(lambda: ends(cluster) == [(1, 1)] * 3, seconds=1)
        near = next(each for each in cluster.ids if each != leader(cluster))
        client = await a_client(cluster)
        asked = FetchPartition(partition=0, partition_max_bytes=1000)
        request = FetchRequest(
            min_bytes=1,
            rack_id=f"rack{near}",
            topics=[FetchTopic(topic_id=topic_id(cluster), partitions=[asked])],
        )

        told = (
            (await client.ask(leader(cluster), request, FetchResponse)).responses[0].partitions[0]
        )
        assert (told.preferred_read_replica, bool(told.records)) == (near, False)
        read = (await client.ask(near, request, FetchResponse)).responses[0].partitions[0]
        assert (read.error_code, read.high_watermark, bool(read.records)) == (0, 1, True)
        client.close()

    cluster.run(work)


def topic_id(cluster: SimulatedCluster) -> Uuid:
    return cluster.nodes[1].broker.image.topics_by_name[TOPIC].topic_id


def channel_to(cluster: SimulatedCluster, node_id: int) -> PeerChannel:
    world = cluster.simulation.machine("client").world
    return PeerChannel(world, cluster.name_of(node_id), 9092, client_id="client")


def a_produce(cluster: SimulatedCluster, *, timeout_ms: int = 1000) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=build_batch([Record(timestamp=1, value=b"v")]))
    topic = TopicProduceData(name=TOPIC, topic_id=topic_id(cluster), partition_data=[data])
    return ProduceRequest(acks=-1, timeout_ms=timeout_ms, topic_data=[topic])


def hint(answer: ProduceResponse | FetchResponse, part: object) -> tuple[int, int, list[str]]:
    """The error, who leads instead, and where (KIP-951)."""
    error, leader = part.error_code, part.current_leader  # type: ignore[attr-defined]
    return error, leader.leader_id, [each.host for each in answer.node_endpoints]


def test_a_follower_tells_of_its_producers_as_the_leader_does() -> None:
    cluster = a_cluster()
    asked = TopicRequest(name=TOPIC, partition_indexes=[0])

    async def work() -> list[tuple[int, int]]:
        await create(cluster)
        async with a_producer(cluster) as producer:
            await producer.send_and_wait(TOPIC, b"x")
        found = []
        for each in cluster.ids:
            answer = await channel_to(cluster, each).ask(DescribeProducersRequest(topics=[asked]))
            (partition,) = answer.topics[0].partitions
            found.append((partition.error_code, len(partition.active_producers)))
        return found

    assert cluster.run(work) == [(0, 1)] * 3


def test_who_asks_a_follower_or_with_an_old_epoch_is_told_who_leads() -> None:
    cluster = a_cluster()

    async def work() -> list[tuple[int, int, list[str]]]:
        await create(cluster)
        first = leader(cluster)
        channel = channel_to(cluster, next(each for each in cluster.ids if each != first))
        produced = await channel.ask(a_produce(cluster))
        # Somebody who knows the first leader only.
        part = FetchPartition(partition=0, partition_max_bytes=99, current_leader_epoch=0)
        wanted = FetchTopic(topic_id=topic_id(cluster), partitions=[part])
        cluster.kill(first)
        await cluster.until(lambda: cluster.leader_of(*P0) not in (first, None))
        second = leader(cluster)
        fetched = await channel_to(cluster, second).ask(FetchRequest(topics=[wanted], max_bytes=99))
        return [
            hint(produced, produced.responses[0].partition_responses[0]),
            (first, second, [cluster.name_of(first), cluster.name_of(second)]),
            hint(fetched, fetched.responses[0].partitions[0]),
        ]

    produced, (first, second, names), fetched = cluster.run(work)
    assert produced == (ErrorCode.NOT_LEADER_OR_FOLLOWER, first, [names[0]])
    assert fetched == (ErrorCode.FENCED_LEADER_EPOCH, second, [names[1]])


@pytest.mark.parametrize("configs", [{}, {"flush_messages": "1"}], ids=["straight", "handled"])
def test_who_waits_for_a_leader_that_is_deposed_is_told_who_leads_now(
    configs: dict[str, str],
) -> None:
    cluster = a_cluster()

    async def work() -> tuple[tuple[int, int, list[str]], int]:
        await create(cluster, **configs)
        first = leader(cluster)
        third, second = sorted(
            (each for each in cluster.ids if each != first),
            key=lambda each: cluster.nodes[each].quorum.driver.is_active,
        )
        # It is in the ISR for a while yet, so that nothing is committed.
        cluster.pause(third)
        acks = cluster.nodes[first].broker.waiting.acks
        asked = asyncio.create_task(
            channel_to(cluster, first).ask(a_produce(cluster, timeout_ms=60_000), timeout_ms=60_000)
        )
        await cluster.until(lambda: len(acks) == 1)
        move = ReassignablePartition(partition_index=0, replicas=[second])
        await channel_to(cluster, second).ask(
            AlterPartitionReassignmentsRequest(
                topics=[ReassignableTopic(name=TOPIC, partitions=[move])]
            )
        )
        answer = await asked
        cluster.resume(third)
        return hint(answer, answer.responses[0].partition_responses[0]), second

    told, second = cluster.run(work)
    assert told == (ErrorCode.NOT_LEADER_OR_FOLLOWER, second, [cluster.name_of(second)])
