"""A group shard with a clock, a log, topics and consumers: what the tests of consumer groups talk to.

Every record goes through its bytes, and the invariants are checked after every step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.base.settings.group import GroupSettings
from klamm.coordinator.group.classic.member import Client
from klamm.coordinator.group.consumer.group import ConsumerGroup
from klamm.coordinator.group.consumer.member import Member
from klamm.coordinator.group.records import FRAMING
from klamm.coordinator.group.shard import GroupShard
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.shard import Outcome
from klamm.metadata.image import (
    BrokerImage,
    ClusterImage,
    ConfigKey,
    PartitionImage,
    TopicImage,
)
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

GROUP = "group"
START = 1_750_000_000_000
SESSION = 45_000
REBALANCE = 60_000
INTERVAL = 5_000
HOST = "/10.0.0.1"

Places = set[tuple[str, int]]


def topic_id(name: str) -> Uuid:
    return Uuid(name.encode().ljust(16, b"."))


def topics_of(counts: Mapping[str, int]) -> dict[str, TopicImage]:
    one = PartitionImage((1,), (1,), 1, 0, 0)
    return {name: TopicImage(name, topic_id(name), (one,) * n) for name, n in counts.items()}


class RoomWithout:
    """There is room for everything but records of one kind."""

    is_open = True

    def __init__(self, key: type) -> None:
        self._key = key

    def fits(self, records: Sequence[CoordinatorRecord]) -> bool:
        return not any(isinstance(record.key, self._key) for record in records)


class Room:
    def __init__(self, topics: Mapping[str, int] | None = None, **settings: Any) -> None:
        self.settings = GroupSettings(**{"group_consumer_assignment_interval_ms": 0, **settings})
        self.now = START
        self.wall_ahead = 0
        self.chance = random.Random(7)
        self.log: list[tuple[bytes, bytes | None]] = []
        # What was written together.
        self.batches: list[list[CoordinatorRecord]] = []
        self.replies: dict[int, Any] = {}
        self._tokens = 0
        self._offset = 0
        self.configs: dict[ConfigKey, dict[str, str]] = {}
        self.image = self._image({"t": 4} if topics is None else topics)
        self.shard = self.restart()

    @property
    def moment(self) -> Now:
        """`now` on both clocks. A test that sets the wall clock moves `wall_ahead`."""
        return Now(self.now, self.now + self.wall_ahead)

    def _image(self, counts: Mapping[str, int]) -> ClusterImage:
        self._offset += 10
        topics = topics_of(counts)
        return ClusterImage(
            offset=self._offset,
            topics_by_name=topics,
            topics_by_id={each.topic_id: each for each in topics.values()},
            brokers={1: BrokerImage(1, 0, topic_id("incarnation"), is_fenced=False)},
            configs=self.configs,
        )

    # The group.

    @property
    def group(self) -> ConsumerGroup:
        group = self.shard.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    def member(self, member_id: str) -> Member:
        return self.group.members[member_id]

    def owned(self, member_id: str) -> Places:
        member = self.member(member_id)
        return self.names((topic, p) for topic, epochs in member.assigned.items() for p in epochs)

    def names(self, places: Any) -> Places:
        names = {each.topic_id: name for name, each in self.image.topics_by_name.items()}
        return {(names[topic], partition) for topic, partition in places}

    # The broker.

    def restart(self) -> GroupShard:
        """Another broker takes over: it knows what was written."""
        self.shard = GroupShard(self.settings, self.chance)
        for offset, (key, value) in enumerate(self.log):
            record = FRAMING.decode(key, value)
            assert record is not None
            self.shard.replay(record, offset, None)
        self.carry_out(self.shard.loaded(self.image, self.moment))
        return self.shard

    def change_topics(self, counts: Mapping[str, int]) -> None:
        self.image = self._image(counts)
        self.carry_out(self.shard.follow(self.image, self.moment))

    def configure(self, **configs: int) -> None:
        names = {name.replace("_", "."): str(value) for name, value in configs.items()}
        self.configs[ConfigKey(ResourceType.GROUP, GROUP)] = names
        self.change_topics({n: len(t.partitions) for n, t in self.image.topics_by_name.items()})

    def advance(self, ms: int) -> None:
        """Alarms ring on the way, each at its time."""
        end = self.now + ms
        while (at := self.shard.deadlines.next) is not None and at <= end:
            self.now = max(self.now, at)
            self.carry_out(self.shard.wake(self.moment))
        self.now = end

    def carry_out(self, outcome: Outcome) -> None:
        batch = []
        for record in outcome.records:
            key, value = FRAMING.encode(record)
            self.log.append((key, value))
            read = FRAMING.decode(key, value)
            assert read is not None
            batch.append(read)
            self.shard.replay(read, len(self.log), None)
        if batch:
            self.batches.append(batch)
        for token, reply in outcome.replies:
            assert token not in self.replies
            self.replies[token] = reply
        self.shard.check_invariants()

    def ask(self, decide: Callable[[int], Outcome]) -> Any:
        """The reply, or None while there is none; raises ApiError."""
        self._tokens += 1
        self.carry_out(decide(self._tokens))
        reply = self.replies.get(self._tokens)
        if isinstance(reply, ApiError):
            raise reply
        return reply

    # Requests.

    def heartbeat(
        self,
        member_id: str,
        epoch: int,
        *,
        topics: Sequence[str] | None = None,
        regex: str | None = None,
        owned: Places | None = None,
        instance: str | None = None,
        rack: str | None = None,
        assignor: str | None = None,
        rebalance: int = -1,
        group: str = GROUP,
        version: int = 1,
        client: str = "client",
    ) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance,
            rack_id=rack,
            rebalance_timeout_ms=rebalance,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            topic_partitions=None if owned is None else _claim(owned),
        )
        reply = self.ask(
            lambda token: self.shard.consumer.heartbeat(
                request, Client(client, HOST), version=version, token=token, now=self.moment
            )
        )
        assert isinstance(reply, ConsumerGroupHeartbeatResponse)
        return reply

    def join(
        self, member_id: str, topics: Sequence[str] | None = ("t",), **more: Any
    ) -> ConsumerGroupHeartbeatResponse:
        facts: dict[str, Any] = {"rebalance": REBALANCE, "owned": set(), **more}
        return self.heartbeat(member_id, 0, topics=topics, **facts)

    def leave(self, member_id: str, epoch: int = -1, **more: Any) -> ConsumerGroupHeartbeatResponse:
        return self.heartbeat(member_id, epoch, **more)

    def consumer(self, member_id: str, topics: Sequence[str] = ("t",), **more: Any) -> Consumer:
        consumer = Consumer(self, member_id, topics, more)
        consumer.join()
        return consumer

    def settle(self, *consumers: Consumer) -> None:
        """Heartbeats until nothing changes any more."""
        for _ in range(20):
            before = len(self.log)
            for each in consumers:
                each.beat()
            if len(self.log) == before:
                return
        raise AssertionError("the rebalance does not end")


@dataclass
class Consumer:
    """Follows the protocol: gives up at once what is taken from it, and says so in its next heartbeat."""

    room: Room
    member_id: str
    topics: Sequence[str] = ("t",)
    more: dict[str, Any] = field(default_factory=dict)
    epoch: int = 0
    owned: Places = field(default_factory=set)

    def join(self) -> None:
        self.owned = set()
        self.take(self.room.join(self.member_id, self.topics, **self.more))

    def beat(self, **more: Any) -> None:
        instance = self.more.get("instance")
        answer = self.room.heartbeat(
            self.member_id, self.epoch, owned=self.owned, instance=instance, **more
        )
        self.take(answer)

    def take(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            given = answer.assignment.topic_partitions
            self.owned = self.room.names((t.topic_id, p) for t in given for p in t.partitions)


def _claim(owned: Places) -> list[TopicPartitions]:
    claimed: dict[str, list[int]] = {}
    for name, partition in sorted(owned):
        claimed.setdefault(name, []).append(partition)
    return [
        TopicPartitions(topic_id=topic_id(name), partitions=partitions)
        for name, partitions in claimed.items()
    ]


def error_of(call: Callable[[], object]) -> ErrorCode:
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value.code
