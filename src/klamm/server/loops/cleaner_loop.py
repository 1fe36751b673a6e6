"""Compaction, one log at a time, the dirtiest first.

Deciding and swapping is done on the loop, all reading and writing by a worker beside it (world/compaction.py).
"""

from __future__ import annotations

import asyncio
import logging

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.cleaner import CleanerSettings
from klamm.base.settings.declare import read_theme
from klamm.log.compaction import selection
from klamm.log.compaction.cleaner import Copied
from klamm.log.compaction.round import Round
from klamm.log.compaction.selection import Dirt
from klamm.metadata.resource_type import ResourceType
from klamm.replication.partition import Partition
from klamm.server.broker import Broker
from klamm.server.world.compaction import CannotStartWorker, WorkerDied

log = logging.getLogger(__name__)

# Partitions looked at before others get the loop again.
_BREATH = 64
_SHORTEST_BACKOFF_MS = 10


class CleanerLoop:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        workers = broker.world.workers
        # Waits for the one that compacts, and for the disk.
        self._beside = workers.worker("klamm-cleaner")
        self.worker = workers.compaction(broker.world.disk)
        # Those with something in them that cannot be read: they are left alone until the next start.
        self.uncleanable: set[Partition] = set()

    async def run(self) -> None:
        while True:
            settings = self._settings()
            if not (settings.enable and await self.clean_dirtiest()):
                await self._beside.run(self.worker.rest)
                backoff_ms = max(settings.backoff_ms, _SHORTEST_BACKOFF_MS)
                await asyncio.sleep(backoff_ms / 1000)

    async def close(self) -> None:
        """After `run` was cancelled: what the worker does is of no use any more."""
        self.worker.stop()
        await self._beside.run(self.worker.rest)
        await self._beside.close()

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
        if chosen is None or self._broker.compacting is not None:
            return False
        return await self._clean_chosen(*chosen)

    async def clean_now(self, partition: Partition) -> bool:
        """The whole log, however clean it is, when the one that is being cleaned is done."""
        while self._broker.compacting is not None:
            await asyncio.sleep(_SHORTEST_BACKOFF_MS / 1000)
        if not self._is_compacted(partition):
            return False
        dirt = self._measure(partition, None)
        return dirt.dirty_bytes > 0 and await self._clean_chosen(partition, dirt)

    async def _clean_chosen(self, partition: Partition, dirt: Dirt) -> bool:
        self._broker.compacting = partition
        try:
            return await self._clean(partition, dirt)
        except (ApiError, WorkerDied) as e:
            log.error("cannot compact, left alone until restart: %s: %s", partition.name, e)
            self.uncleanable.add(partition)
        except CannotStartWorker as e:
            log.warning("cannot compact for now: %s", e)
        except OSError as e:
            if self._is_ours(partition):
                partition.failed(e)
        finally:
            self._broker.compacting = None
        return False

    async def _dirtiest(self) -> tuple[Partition, Dirt] | None:
        candidates = []
        partitions = list(self._broker.replicas)
        self.uncleanable.intersection_update(partitions)
        for count, partition in enumerate(partitions):
            if self._is_compacted(partition):
                try:
                    home = self._broker.replicas.home_of(partition)
                    dirt = self._measure(partition, home.cleaner_offsets.get(partition.name))
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
            and partition not in self.uncleanable
            and not self._broker.directory_moves.is_moving(partition.name)
        )

    def _measure(self, partition: Partition, checkpoint: int | None) -> Dirt:
        log = partition.log
        return selection.measure(
            log.segments(),
            partition.settings,
            checkpoint=checkpoint,
            start_offset=log.start_offset,
            end_offset=log.end_offset,
            last_stable_offset=partition.last_stable_offset,
            now=self._broker.clock.wall(),
        )

    def _is_ours(self, partition: Partition) -> bool:
        """Still the partition of that name, and its directory still works."""
        found = self._broker.replicas.find(*partition.name)
        return found is partition and not partition.is_offline

    # Cleaning ----------------------------------------------------------------------------------

    async def _clean(self, partition: Partition, dirt: Dirt) -> bool:
        settings = self._settings()
        if not await self._make_safe(partition, dirt):
            return False
        started = self._broker.clock.monotonic()
        asked = Round(
            self._broker.replicas.home_of(partition).disk,
            partition.log,
            partition.settings,
            dirt,
            now=self._broker.clock.wall(),
            map_bytes=settings.dedupe_buffer_size,
            load_factor=settings.io_buffer_load_factor,
        )
        plan = await self._beside.run(
            self.worker.begin, asked.job, settings.io_max_bytes_per_second
        )
        if plan.end_offset == dirt.first_dirty_offset:
            raise ApiError(
                ErrorCode.KAFKA_STORAGE_ERROR, "log.cleaner.dedupe.buffer.size is too small"
            )
        size = partition.log.size_bytes()
        for group in plan.groups:
            copied = await self._beside.run(self.worker.copy, group)
            if copied is not None and not await self._swap_in(partition, asked, copied):
                return False
        await self._write_checkpoint(partition, plan.end_offset)
        log.info(
            "compacted: partition=%s from=%s to=%s bytes=%s seconds=%.1f",
            partition.name,
            dirt.first_dirty_offset,
            plan.end_offset,
            f"{size}->{partition.log.size_bytes()}",
            (self._broker.clock.monotonic() - started) / 1000,
        )
        return True

    async def _make_safe(self, partition: Partition, dirt: Dirt) -> bool:
        """Sync the log and write down that it is: recovery never looks for lost bytes where compaction left gaps."""
        flushed = asyncio.Event()
        self._broker.flusher.flush([partition.log], lambda _: flushed.set())
        await flushed.wait()
        # A sync that failed, or a truncation, leaves it below.
        if not self._is_ours(partition) or partition.log.recovery_point < dirt.end_offset:
            return False
        checkpoint = self._broker.replicas.home_of(partition).new_recovery_points()
        if checkpoint is not None:
            await self._broker.checkpointer.write(checkpoint)
        return self._is_ours(partition)

    async def _swap_in(self, partition: Partition, asked: Round, copied: Copied) -> bool:
        if self._is_ours(partition) and asked.swap_in(copied):
            return True
        # Retention, a truncation or the deletion of the topic was faster.
        await self._beside.run(asked.discard, copied)
        return False

    async def _write_checkpoint(self, partition: Partition, end_offset: int) -> None:
        if self._is_ours(partition):
            home = self._broker.replicas.home_of(partition)
            await self._beside.run(home.disk.fsync_dir, partition.log.directory)
            checkpoint = home.new_cleaner_offset(partition.name, end_offset)
            if checkpoint is not None:
                await self._broker.checkpointer.write(checkpoint)
