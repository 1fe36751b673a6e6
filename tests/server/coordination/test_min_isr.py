"""A coordinator whose log takes nothing, because too few replicas are in sync: it goes on as it is until it can write again."""

from __future__ import annotations

import asyncio
from collections import Counter

from klamm.base.errors import ErrorCode, code_of
from klamm.base.ids import ZERO_UUID
from klamm.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from klamm.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from klamm.server.coordination.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from klamm.server.peers.channel import PeerChannel
from testing.one_node import OneNode, time_passes

MEMBERS = 1_000
SECONDS = 30
# Versions in which topics are named by their names.
COMMIT, FETCH = 9, 9


class Members:
    """Of one consumer group, which speak to its coordinator."""

    def __init__(self, one: OneNode) -> None:
        self.one = one
        self.channel = PeerChannel(
            one.simulation.machine("client").world, "node1", 9092, client_id="members"
        )
        self.epochs = {f"member-{number}": 0 for number in range(MEMBERS)}

    async def create(self) -> None:
        topic = CreatableTopic(name="t", num_partitions=4, replication_factor=1)
        await self.channel.ask(CreateTopicsRequest(topics=[topic]))
        for kind in (0, 1):
            await self.channel.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=["g"]))

    async def beat(self, member_id: str) -> ConsumerGroupHeartbeatResponse:
        epoch = self.epochs[member_id]
        # Of a topic that does not exist: there is nothing to be given and given back.
        names = ["nothing"] if epoch == 0 else None
        partitions = [] if epoch == 0 else None
        answer: ConsumerGroupHeartbeatResponse = await self.channel.ask(
            ConsumerGroupHeartbeatRequest(
                group_id="g",
                member_id=member_id,
                member_epoch=epoch,
                rebalance_timeout_ms=60_000 if epoch == 0 else -1,
                subscribed_topic_names=names,
                topic_partitions=partitions,
            )
        )
        if not answer.error_code:
            self.epochs[member_id] = answer.member_epoch
        return answer

    async def beat_all(self) -> Counter[ErrorCode]:
        return Counter([code_of((await self.beat(each)).error_code) for each in self.epochs])

    async def commit(self, offset: int) -> int:
        member_id = next(iter(self.epochs))
        answer = await self.channel.ask(
            OffsetCommitRequest(
                group_id="g",
                member_id=member_id,
                generation_id_or_member_epoch=self.epochs[member_id],
                topics=[
                    OffsetCommitRequestTopic(
                        name="t",
                        topic_id=ZERO_UUID,
                        partitions=[
                            OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
                        ],
                    )
                ],
            ),
            version=COMMIT,
        )
        code: int = answer.topics[0].partitions[0].error_code
        return code

    async def committed(self) -> int:
        topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
        answer = await self.channel.ask(
            OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)]),
            version=FETCH,
        )
        offset: int = answer.groups[0].topics[0].partitions[0].committed_offset
        return offset

    def set_isr(self, topic: str, isr: tuple[int, ...]) -> None:
        for partition in self.one.node.broker.replicas:
            if partition.name.topic == topic:
                partition.isr = isr


def test_a_group_of_a_thousand_outlives_half_a_minute_in_which_nothing_can_be_written() -> None:
    one = OneNode()

    async def work() -> None:
        members = Members(one)
        await members.create()
        for _ in range(3):
            assert await members.beat_all() == {ErrorCode.NONE: MEMBERS}
            await time_passes(2)
        assert len(set(members.epochs.values())) == 1, "all have the assignment of the same epoch"
        assert await members.commit(7) == ErrorCode.NONE
        shards = one.node.broker.groups.shards()

        members.set_isr(OFFSETS_TOPIC, ())
        for _ in range(SECONDS // 5):
            assert await members.beat_all() == {ErrorCode.NONE: MEMBERS}
            assert await members.commit(8) == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert await members.committed() == 7, "who only reads is served"
            await time_passes(5)
        members.set_isr(OFFSETS_TOPIC, (1,))

        assert await members.beat_all() == {ErrorCode.NONE: MEMBERS}, "nobody was thrown out"
        assert await members.commit(9) == ErrorCode.NONE
        assert await members.committed() == 9
        after = one.node.broker.groups.shards()
        assert all(a is b for a, b in zip(after, shards, strict=True)), "nothing was loaded anew"

    one.run(work)


def test_sessions_do_not_end_while_that_could_not_be_written() -> None:
    one = OneNode()

    async def work() -> None:
        members = Members(one)
        members.epochs = {"lonely": 0}
        await members.create()
        await members.beat("lonely")
        shards = one.node.broker.groups.shards()
        members.set_isr(OFFSETS_TOPIC, ())

        await time_passes(120)

        groups = [group for shard in shards for group in shard.groups.values()]
        assert [group.state_name for group in groups] == ["Stable"]
        members.set_isr(OFFSETS_TOPIC, (1,))
        await time_passes(2)
        assert [group.state_name for group in groups] == ["Empty"]
        after = one.node.broker.groups.shards()
        assert all(a is b for a, b in zip(after, shards, strict=True))

    one.run(work)


def test_who_comes_new_to_a_coordinator_that_cannot_write_is_told_to_come_again() -> None:
    one = OneNode()

    async def work() -> list[int]:
        members = Members(one)
        members.epochs = {"new": 0}
        await members.create()
        for topic in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC):
            members.set_isr(topic, ())
        request = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=1_000)
        refused = [
            (await members.beat("new")).error_code,
            (await members.channel.ask(request)).error_code,
        ]
        for topic in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC):
            members.set_isr(topic, (1,))
        await asyncio.sleep(0)
        return [
            *refused,
            (await members.beat("new")).error_code,
            (await members.channel.ask(request)).error_code,
        ]

    unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert one.run(work) == [unavailable, unavailable, ErrorCode.NONE, ErrorCode.NONE]
