"""What a broker does by the clock: retention, checkpoints, flushes, forgetting old producers, removing deleted files.

One task. Each job has its own interval, which is a setting; decisions are taken on the loop, writing and syncing is
done in a worker thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

from klamm.base.clock import Clock, Ms
from klamm.base.deadlines import Deadlines
from klamm.base.errors import ApiError
from klamm.base.settings.declare import LONG_MAX
from klamm.replication.partition import Partition
from klamm.server.broker import Broker
from klamm.storage.log_directories import Checkpoint, LogDirectory

log = logging.getLogger(__name__)

# How often files whose deletion was decided are looked at; the delay itself is file.delete.delay.ms.
_REMOVAL_INTERVAL_MS = 5_000
# Deviation: Kafka remembers every producer id for a day, and a client may invent as many as it likes. Here all partitions
# together remember klamm.max.producer.ids, about 1 KB each; those that were silent for longest are forgotten first.
_PRODUCER_COUNT_INTERVAL_MS = 5_000
# Partitions handled before others get the loop again.
_BREATH = 64

Job = Callable[[], Awaitable[None]]


class Housekeeping:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._clock: Clock = broker.clock
        settings = broker.settings.log
        self._jobs: dict[str, tuple[int, Job]] = {
            "retention": (settings.retention_check_interval_ms, self.retain),
            "flush": (settings.flush_scheduler_interval_ms, self.flush),
            "recovery points": (
                settings.flush_offset_checkpoint_interval_ms,
                self.checkpoint_recovery_points,
            ),
            "log starts": (
                settings.flush_start_offset_checkpoint_interval_ms,
                self.checkpoint_log_starts,
            ),
            "high watermarks": (
                settings.high_watermark_checkpoint_interval_ms,
                self.checkpoint_high_watermarks,
            ),
            "producers": (settings.producer_id_expiration_check_interval_ms, self.expire_producers),
            "producer count": (_PRODUCER_COUNT_INTERVAL_MS, self.limit_producers),
            "removal": (_REMOVAL_INTERVAL_MS, self.remove_deleted),
        }
        self._deadlines: Deadlines[str] = Deadlines()

    async def run(self) -> None:
        now = self._clock.monotonic()
        first = now + self._broker.settings.log.initial_task_delay_ms
        for name, (interval, _) in self._jobs.items():
            if interval != LONG_MAX:
                self._deadlines.set(name, first if name == "retention" else now + interval)
        while (next_at := self._deadlines.next) is not None:
            await asyncio.sleep(max(0, next_at - self._clock.monotonic()) / 1000)
            now = self._clock.monotonic()
            for name in self._deadlines.due(now):
                interval, job = self._jobs[name]
                await job()
                self._deadlines.set(name, now + interval)

    async def retain(self, now: Ms | None = None) -> None:
        now = self._clock.wall() if now is None else now
        for count, partition in enumerate(list(self._online())):
            with suppress(ApiError):
                count_removed = partition.retain(now)
                if count_removed:
                    self._broker.replica_fetchers.started_later(partition)
                    # Followers drop the same, also if nothing is written any more.
                    self._broker.backlogs.learned(partition)
                    log.info(
                        "retention removed segments: partition=%s count=%s",
                        partition.name,
                        count_removed,
                    )
            if count % _BREATH == _BREATH - 1:
                await asyncio.sleep(0)

    async def flush(self) -> None:
        now = self._clock.monotonic()
        due = [p.log for p in self._online() if p.log.needs_flush(now)]
        if due:
            self._broker.flusher.flush(due)

    async def expire_producers(self) -> None:
        now = self._clock.wall()
        for partition in self._broker.replicas:
            partition.log.expire_producers(now)

    async def limit_producers(self) -> None:
        """Where there are too many, each partition keeps an equal share."""
        producers = [each.log.producers for each in self._online() if len(each.log.producers)]
        most = self._broker.settings.log.max_producer_ids
        if sum(map(len, producers)) <= most:
            return
        # A tenth less than allowed, so that it is not soon done again: many are looked through for it.
        share = max(1, most * 9 // 10 // len(producers))
        for each in producers:
            if len(each) > share:
                each.forget_oldest(share)
                await asyncio.sleep(0)
        log.warning(
            "too many producer ids, the oldest were forgotten: partitions=%d", len(producers)
        )

    async def remove_deleted(self) -> None:
        now = self._clock.monotonic()
        for partition in list(self._online()):
            try:
                partition.log.remove_deleted(now)
            except OSError as e:
                partition.failed(e)
        due = [path for at, path in self._broker.deleted if at <= now]
        self._broker.deleted = [each for each in self._broker.deleted if each[0] > now]
        for path in due:
            disk = self._broker.replicas.directories[0].disk
            try:
                await self._broker.world.workers.run(disk.rmtree, path)
            except OSError as e:
                # Nothing that anybody reads: out of files for a moment, perhaps. The rest of the house must be kept.
                log.warning("cannot remove a deleted partition yet: path=%s reason=%s", path, e)
                self._broker.deleted.append((now + _REMOVAL_INTERVAL_MS, path))

    async def checkpoint_recovery_points(self) -> None:
        """Sync what is not yet on disk, then say so: a crash then re-reads only what came after."""
        flushed = asyncio.Event()
        logs = [partition.log for partition in self._online()]
        self._broker.flusher.flush(logs, lambda _: flushed.set())
        await flushed.wait()
        await self._checkpoint(LogDirectory.new_recovery_points)

    async def checkpoint_log_starts(self) -> None:
        await self._checkpoint(LogDirectory.new_log_starts)

    async def checkpoint_high_watermarks(self) -> None:
        high_watermarks = self._broker.replicas.high_watermarks()
        await self._checkpoint(lambda directory: directory.new_high_watermarks(high_watermarks))

    def _online(self) -> Iterator[Partition]:
        return (partition for partition in self._broker.replicas if not partition.is_offline)

    async def _checkpoint(self, wanted: Callable[[LogDirectory], Checkpoint | None]) -> None:
        for directory in self._broker.replicas.directories:
            checkpoint = wanted(directory) if directory.is_online else None
            if checkpoint is not None:
                try:
                    await self._broker.checkpointer.write(checkpoint)
                except OSError as e:
                    self._broker.directory_failed(directory, e)
