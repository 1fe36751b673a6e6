"""A shard's past: its partition's log is replayed before the first request, a few milliseconds at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from klamm.base.errors import ApiError
from klamm.coordinator.records.framing import Framing
from klamm.coordinator.shard import Shard
from klamm.metadata.image import ClusterImage
from klamm.protocol.records.batch import Codec
from klamm.server.coordination.partition_log import End, PartitionLog
from klamm.server.world.ports import Turns

if TYPE_CHECKING:
    from klamm.server.broker import Broker

log = logging.getLogger(__name__)

ShardT = TypeVar("ShardT", bound=Shard)
Begin = Callable[[int, ShardT, PartitionLog], None]


class Topic(NamedTuple):
    """What a coordinator must know of its topic."""

    name: str
    framing: Framing
    codec: Codec
    read_at_once: int
    # How long a reply waits for the replicas.
    write_timeout_ms: int


class Loads(Generic[ShardT]):
    """Which partitions of the topic this broker leads, and the shards that are being read. `begin` hears of each that was."""

    def __init__(
        self,
        broker: Broker,
        topic: Topic,
        new_shard: Callable[[int], ShardT],
        begin: Begin[ShardT],
    ) -> None:
        self._broker = broker
        self._topic = topic
        self._new_shard = new_shard
        self._begin = begin
        # The epoch in which this broker leads each partition: of those that are loaded, and of those that are not yet.
        self._epochs: dict[int, int] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, index: int) -> bool:
        return index in self._tasks

    def changes(self, image: ClusterImage) -> tuple[list[int], list[int]]:
        """Those that this broker leads no longer, or in another epoch; and those to begin with."""
        topic = image.topics_by_name.get(self._topic.name)
        led: dict[int, int] = {}
        for index in range(len(topic.partitions) if topic is not None else 0):
            partition = self._broker.replicas.find(self._topic.name, index)
            if partition is not None and partition.is_leader:
                led[index] = partition.leader_epoch
        lost = [each for each in self._epochs if self._epochs[each] != led.get(each)]
        return lost, [each for each in led if each in lost or each not in self._epochs]

    def begin(self, index: int) -> None:
        """Read it, if this broker leads it."""
        topic = self._topic
        partition = self._broker.replicas.find(topic.name, index)
        if partition is None or not partition.is_leader:
            return
        self._epochs[index] = partition.leader_epoch
        writer = PartitionLog(partition, topic.framing, topic.codec, self._broker.appended)
        if partition.log.start_offset == partition.log.end_offset:
            self._begin(index, self._new_shard(index), writer)
            return
        task = asyncio.get_running_loop().create_task(self._load(index, writer))
        self._tasks[index] = task

    async def _load(self, index: int, writer: PartitionLog) -> None:
        shard = self._new_shard(index)
        try:
            await load(shard, writer, self._topic.read_at_once, self._broker.world.turns)
        except (ApiError, OSError) as e:
            # It stays closed: a coordinator that has forgotten half of what it promised is worse than none.
            log.error("a coordinator cannot load: %s-%d: %s", self._topic.name, index, e)
            return
        finally:
            # One that was given up has a successor, perhaps, which stands there now.
            if self._tasks.get(index) is asyncio.current_task():
                del self._tasks[index]
        self._begin(index, shard, writer)

    def give_up(self, index: int) -> None:
        self._epochs.pop(index, None)
        task = self._tasks.pop(index, None)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def load(shard: Shard, log: PartitionLog, read_at_once: int, turns: Turns) -> None:
    turn = turns.begin()
    for step in log.replay(read_at_once):
        if step is None:
            if turn.is_over():
                await asyncio.sleep(0)
                turn = turns.begin()
        elif isinstance(step, End):
            shard.replay_end(step.producer, step.is_commit)
        else:
            shard.replay(step.record, step.offset, step.producer)
