"""Compaction, one log at a time, the dirtiest first: deciding and swapping on the loop, all reading and writing beside it.

One task and one worker thread. The thread is Python too, so it rests often: whoever serves a request must not wait for
the interpreter longer than for a disk.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.base.settings.cleaner import CleanerSettings
from klamm.base.settings.declare import read_theme
from klamm.log.compaction import selection
from klamm.log.compaction.cleaner import Cleaning, Limits, Replacement
from klamm.log.compaction.selection import Dirt
from klamm.metadata.resource_type import ResourceType
from klamm.replication.partition import Partition
from klamm.server.broker import Broker

log = logging.getLogger(__name__)

# Partitions looked at before others get the loop again.
_BREATH = 64
_SHORTEST_BACKOFF_MS = 10

Parameters = ParamSpec("Parameters")
T = TypeVar("T")


class Stopped(Exception):
    """The broker stops: nobody waits for this round any more."""


class CleanerLoop:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="klamm-cleaner")
        self._pace = Pace()
        # Logs with something in them that cannot be read: they are left alone until the next start.
        self.uncleanable: set[TopicPartition] = set()

    async def run(self) -> None:
        while True:
            settings = self._settings()
            if not (settings.enable and await self.clean_dirtiest()):
                backoff_ms = max(settings.backoff_ms, _SHORTEST_BACKOFF_MS)
                await asyncio.sleep(backoff_ms / 1000)

    async def close(self) -> None:
        """After `run` was cancelled: the worker ends within a batch."""
        self._pace.is_stopped = True
        await asyncio.get_running_loop().run_in_executor(None, self._worker.shutdown)

    def _settings(self) -> CleanerSettings:
        """They may change while the broker runs."""
        broker = self._broker
        texts = {
            **broker.settings.static,
            **broker.image.config(ResourceType.BROKER, ""),
            **broker.image.config(ResourceType.BROKER, str(broker.node_id)),
        }
        return read_theme(CleanerSettings, texts)

    # Choosing ----------------------------------------------------------------------------------

    async def clean_dirtiest(self) -> bool:
        """Whether there was one to clean, and it got cleaner."""
        chosen = await self._dirtiest()
        if chosen is None:
            return False
        partition, dirt = chosen
        try:
            return await self._clean(partition, dirt)
        except ApiError as e:
            log.error("cannot compact, left alone until restart: %s: %s", partition.name, e)
            self.uncleanable.add(partition.name)
        except OSError as e:
            if self._is_ours(partition):
                partition.failed(e)
        return False

    async def _dirtiest(self) -> tuple[Partition, Dirt] | None:
        candidates = []
        for count, partition in enumerate(list(self._broker.replicas)):
            if self._is_compacted(partition):
                try:
                    dirt = self._measure(partition)
                except OSError as e:
                    partition.failed(e)
                    continue
                if selection.is_worth_cleaning(dirt, partition.settings):
                    candidates.append((partition, dirt))
            if count % _BREATH == _BREATH - 1:
                await asyncio.sleep(0)
        return selection.dirtiest(candidates)

    def _is_compacted(self, partition: Partition) -> bool:
        return (
            "compact" in partition.settings.cleanup_policy
            and partition.log.segment_count > 1
            and not partition.is_offline
            and partition.name not in self.uncleanable
        )

    def _measure(self, partition: Partition) -> Dirt:
        log = partition.log
        return selection.measure(
            log.segments(),
            partition.settings,
            checkpoint=self._broker.replicas.home_of(partition).cleaner_offsets.get(partition.name),
            start_offset=log.start_offset,
            end_offset=log.end_offset,
            last_stable_offset=partition.last_stable_offset,
            now=self._broker.clock.now(),
        )

    def _is_ours(self, partition: Partition) -> bool:
        """Still the partition of that name, and its directory still works."""
        found = self._broker.replicas.find(*partition.name)
        return found is partition and not partition.is_offline

    # Cleaning ----------------------------------------------------------------------------------

    async def _clean(self, partition: Partition, dirt: Dirt) -> bool:
        settings = self._settings()
        self._pace.begin(settings.io_max_bytes_per_second)
        if not await self._make_safe(partition, dirt):
            return False
        started = time.monotonic()
        cleaning = Cleaning(
            self._broker.replicas.home_of(partition).disk,
            partition.log,
            partition.settings,
            dirt,
            now=self._broker.clock.now(),
            limits=Limits(settings.dedupe_buffer_size, settings.io_buffer_load_factor),
        )
        await self._beside(cleaning.build_map, self._pace)
        size = partition.log.size_bytes()
        for group in await self._beside(cleaning.groups):
            replacement = await self._beside(cleaning.copy, group, self._pace)
            if replacement is not None and not await self._swap_in(partition, replacement):
                return False
        await self._write_checkpoint(partition, cleaning.end_offset)
        log.info(
            "compacted: partition=%s from=%s to=%s bytes=%s seconds=%.1f",
            partition.name,
            dirt.first_dirty_offset,
            cleaning.end_offset,
            f"{size}->{partition.log.size_bytes()}",
            time.monotonic() - started,
        )
        return cleaning.end_offset > dirt.first_dirty_offset

    async def _make_safe(self, partition: Partition, dirt: Dirt) -> bool:
        """Sync the log and write down that it is: recovery never looks for lost bytes where compaction left gaps."""
        flushed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._broker.flusher.flush(
            [partition.log], lambda failed: flushed.set_result(partition.log not in failed)
        )
        if not await flushed or partition.log.recovery_point < dirt.end_offset:
            return False
        checkpoint = self._broker.replicas.home_of(partition).new_recovery_points()
        if checkpoint is not None:
            await self._beside(checkpoint.write)
        return self._is_ours(partition)

    async def _swap_in(self, partition: Partition, replacement: Replacement) -> bool:
        now = self._broker.clock.now()
        if self._is_ours(partition) and partition.log.swap_in(*replacement, now):
            return True
        # Retention, a truncation or the deletion of the topic was faster.
        await self._beside(replacement.discard)
        return False

    async def _write_checkpoint(self, partition: Partition, end_offset: int) -> None:
        if self._is_ours(partition):
            home = self._broker.replicas.home_of(partition)
            await self._beside(home.disk.fsync_dir, partition.log.directory)
            await self._beside(home.new_cleaner_offset(partition.name, end_offset).write)

    async def _beside(
        self,
        work: Callable[Parameters, T],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._worker, lambda: work(*args, **kwargs)
        )


class Pace:
    """How fast the worker may go. Called by it after every batch, with the bytes that went by.

    Releasing the interpreter is not enough for others to get it: they must wake up first, so the worker sleeps.
    """

    WORK_SECONDS = 0.0005
    REST_SECONDS = 0.0001
    _LONGEST_WAIT_SECONDS = 0.1

    def __init__(self) -> None:
        self.is_stopped = False
        self.begin(float("inf"))

    def begin(self, bytes_per_second: float) -> None:
        self._bytes_per_second = bytes_per_second
        self._bytes = 0
        self._began = self._rested = time.monotonic()

    def __call__(self, size: int) -> None:
        self._bytes += size
        now = time.monotonic()
        if now - self._rested < self.WORK_SECONDS:
            return
        time.sleep(self.REST_SECONDS)
        due = self._began + self._bytes / self._bytes_per_second
        while (wait := due - time.monotonic()) > 0 and not self.is_stopped:
            time.sleep(min(wait, self._LONGEST_WAIT_SECONDS))
        if self.is_stopped:
            raise Stopped
        self._rested = time.monotonic()
