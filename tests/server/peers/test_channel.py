"""A channel to another node, in a simulated world: answers, and being told that there are none."""

import asyncio

import pytest

from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from klamm.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from klamm.protocol.messages.metadata import MetadataRequest, MetadataResponse
from klamm.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.server.peers.channel import PeerChannel, PeerUnavailable
from testing.one_node import OneNode, time_passes


class Peer:
    """Another process than the node's, with a channel to it."""

    def __init__(self, one: OneNode) -> None:
        world = one.simulation.machine("client").world
        self.refused = 0
        self.channel = PeerChannel(world, "node1", 9092, client_id="peer")
        self.channel.on_refused = self._refused

    def _refused(self) -> None:
        self.refused += 1


def test_requests_in_flight_are_answered_in_their_order() -> None:
    one = OneNode()

    async def work() -> list[type[object]]:
        peer = Peer(one)
        topics = [CreatableTopic(name="t", num_partitions=1, replication_factor=1)]
        answers = await asyncio.gather(
            peer.channel.ask(CreateTopicsRequest(topics=topics, timeout_ms=1000)),
            peer.channel.ask(MetadataRequest(topics=None), version=12),
        )
        peer.channel.close()
        return [type(each) for each in answers]

    assert one.run(work) == [CreateTopicsResponse, MetadataResponse]


def test_a_long_answer_arrives_whole_in_memory_that_may_be_written_to() -> None:
    one = OneNode()
    value = bytes(range(256)) * 2000

    async def work() -> bool:
        peer = Peer(one)
        topics = [CreatableTopic(name="t", num_partitions=1, replication_factor=1)]
        await peer.channel.ask(CreateTopicsRequest(topics=topics, timeout_ms=1000))
        batch = build_batch([Record(timestamp=1, value=value)])
        data = PartitionProduceData(index=0, records=batch)
        topic = TopicProduceData(name="t", partition_data=[data])
        produced: ProduceResponse = await peer.channel.ask(
            ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]), version=11
        )
        assert produced.responses[0].partition_responses[0].error_code == 0
        asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        found = await peer.channel.ask(
            FetchRequest(max_bytes=1 << 20, topics=[FetchTopic(topic="t", partitions=[asked])]),
            version=12,
        )
        peer.channel.close()
        records = found.responses[0].partitions[0].records
        records[0:1] = b"\0"
        return value in bytes(records)

    assert one.run(work)


def test_who_waits_for_a_node_that_dies_is_told_and_then_that_nobody_listens_there() -> None:
    one = OneNode()

    async def work() -> int:
        peer = Peer(one)
        await peer.channel.ask(MetadataRequest(topics=[]))
        one.machine.kill()
        for _ in range(2):
            with pytest.raises(PeerUnavailable):
                await peer.channel.ask(MetadataRequest(topics=[]))
        refused = peer.refused
        await one.start()
        await peer.channel.ask(MetadataRequest(topics=[]))
        peer.channel.close()
        return refused

    assert one.run(work) >= 1
    assert not one.simulation.loop.complaints


@pytest.mark.parametrize("is_connected", [False, True])
def test_a_node_that_is_cut_off_is_given_up_after_the_time_that_was_asked_for(
    is_connected: bool,
) -> None:
    one = OneNode()

    async def work() -> float:
        peer = Peer(one)
        if is_connected:
            await peer.channel.ask(MetadataRequest(topics=[]))
        one.simulation.network.cut(["client"], ["node1"])
        began = one.simulation.loop.time()
        with pytest.raises(PeerUnavailable):
            await peer.channel.ask(MetadataRequest(topics=[]), timeout_ms=2000)
        took = one.simulation.loop.time() - began
        one.simulation.network.heal()
        await time_passes(1.5)
        await peer.channel.ask(MetadataRequest(topics=[]))
        peer.channel.close()
        return took

    assert one.run(work) == pytest.approx(2.0, abs=0.01)


def test_a_closed_channel_answers_nobody() -> None:
    one = OneNode()

    async def work() -> None:
        peer = Peer(one)
        waiting = asyncio.ensure_future(peer.channel.ask(MetadataRequest(topics=[])))
        await asyncio.sleep(0)
        peer.channel.close()
        for each in (waiting, peer.channel.ask(MetadataRequest(topics=[]))):
            with pytest.raises(PeerUnavailable):
                await each

    one.run(work)
