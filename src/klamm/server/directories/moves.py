"""Moves between data directories (AlterReplicaLogDirs): copies go on in turns, and the swap is one step of the loop."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.base.settings.declare import LONG_MAX
from klamm.metadata.resource_type import ResourceType
from klamm.replication.partition import Partition
from klamm.storage.future_replica import FutureReplica
from klamm.storage.log_directories import LogDirectory

if TYPE_CHECKING:
    from klamm.server.broker import Broker

log = logging.getLogger(__name__)

# What is read and written at once, with others served before the next.
_COPIED_AT_ONCE = 1 << 20
# What came while the copy was synced is copied in one go with the swap, if it is no more than so many steps.
_LAST_STEPS = 4
_WAIT_SECONDS = 0.1
_THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"


class DirectoryMoves:
    """One copy at a time: they share a disk, and an operator wants one done rather than all half done."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        # In the order in which they were asked for.
        self._wanted: dict[TopicPartition, LogDirectory] = {}
        self.futures: dict[TopicPartition, FutureReplica] = {}
        self._is_running = False

    def begin(self, name: TopicPartition, target: LogDirectory) -> None:
        """Copy the partition there. A move to elsewhere that is under way is called off."""
        if self._wanted.get(name) is target:
            return
        self.cancel(name)
        self._wanted[name] = target
        if not self._is_running:
            self._is_running = True
            self._broker.run(self._run())

    def cancel(self, name: TopicPartition) -> None:
        self._wanted.pop(name, None)
        future = self.futures.pop(name, None)
        if future is not None:
            self._abandon(future)

    def is_moving(self, name: TopicPartition) -> bool:
        return name in self._wanted

    def cancel_in(self, directory: LogDirectory) -> None:
        """It failed: nothing goes there or comes from there any more."""
        replicas = self._broker.replicas
        for name, target in list(self._wanted.items()):
            partition = replicas.find(*name)
            if target is directory or partition is None or replicas.home_of(partition) is directory:
                self._wanted.pop(name)
                self.futures.pop(name, None)

    def _abandon(self, future: FutureReplica) -> None:
        try:
            future.abandon()
        except OSError as e:
            self._broker.directory_failed(future.target, e)

    async def _run(self) -> None:
        try:
            while self._wanted:
                name, target = next(iter(self._wanted.items()))
                try:
                    await self._move(name, target)
                except OSError as e:
                    # Of a move that was called off the files are gone.
                    if self._wanted.get(name) is target:
                        self._failed(name, target, e)
                if self._wanted.get(name) is target:
                    self.cancel(name)
        finally:
            self._is_running = False

    def _failed(self, name: TopicPartition, target: LogDirectory, error: OSError) -> None:
        """Whose disk it was cannot be told from the error: the copy's, since the log's own would have failed others, too."""
        log.error("a move failed: partition=%s to=%s reason=%s", name, target.path, error)
        self.futures.pop(name, None)
        self._broker.directory_failed(target, error)

    async def _move(self, name: TopicPartition, target: LogDirectory) -> None:
        broker = self._broker
        partition = broker.replicas.find(*name)
        if partition is None or broker.replicas.home_of(partition) is target:
            return
        self.futures[name] = future = FutureReplica(
            name,
            partition.log,
            target,
            partition.settings,
            unique=broker.world.chance.randrange(1 << 128),
            now=broker.clock.wall(),
        )
        log.info("a replica is on the move: partition=%s to=%s", name, target.path)
        while self._is_wanted(partition, future):
            await self._catch_up(partition, future)
            if not self._is_wanted(partition, future):
                return
            is_cutting = broker.replica_fetchers.is_cutting(partition)
            if broker.compacting is not partition and not is_cutting:
                self._swap(partition, future)
                return
            await asyncio.sleep(_WAIT_SECONDS)

    def _is_wanted(self, partition: Partition, future: FutureReplica) -> bool:
        """Still under way, and still of the same log."""
        return (
            self.futures.get(partition.name) is future
            and self._broker.replicas.find(*partition.name) is partition
            and not partition.is_offline
        )

    async def _catch_up(self, partition: Partition, future: FutureReplica) -> None:
        """Until all is copied, and safe on disk but for what came during the last sync."""
        now = self._broker.clock.wall
        while self._is_wanted(partition, future):
            copied = future.copy(_COPIED_AT_ONCE, now())
            if not copied:
                flush = future.begin_flush()
                if flush is None:
                    return
                await self._broker.world.workers.run(flush.run)
                future.log.end_flush(flush)
                if not self._is_wanted(partition, future):
                    return
                for _ in range(_LAST_STEPS):
                    if not future.copy(_COPIED_AT_ONCE, now()):
                        return
            rate = self._bytes_per_second()
            # A pause in any case: others are served.
            await asyncio.sleep(copied / rate if rate != LONG_MAX else 0)

    def _bytes_per_second(self) -> int:
        image = self._broker.image
        texts = {
            **image.config(ResourceType.BROKER, ""),
            **image.config(ResourceType.BROKER, str(self._broker.node_id)),
        }
        return max(int(texts.get(_THROTTLE, LONG_MAX)), 1)

    def _swap(self, partition: Partition, future: FutureReplica) -> None:
        """In one breath: nobody appends between the last byte that was copied and the change of place."""
        broker, name = self._broker, partition.name
        old, home = partition.log, broker.replicas.home_of(partition)
        future.target.forget_namesakes(name)
        broker.write_outdated_checkpoints()
        del self.futures[name], self._wanted[name]
        try:
            new = broker.replicas.logs.swap_in(
                future, partition.topic_id, partition.settings, broker.clock.wall()
            )
        except ApiError as e:
            log.error("a replica cannot change its place: partition=%s reason=%s", name, e)
            return
        partition.log = new
        broker.log_replaced(partition, old, home)
        log.info(
            "a replica has moved: partition=%s from=%s to=%s", name, home.path, future.target.path
        )
