"""What a broker does by the clock: retention, checkpoints, flushes, forgetting old producers, removing deleted files.

One task. Each job has its own interval, which is a setting; decisions are taken on the loop, writing and syncing is
done in a worker thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from klamm.base.clock import Clock
from klamm.base.deadlines import Deadlines
from klamm.base.settings.declare import LONG_MAX
from klamm.replication.log_directories import Checkpoint
from klamm.server.broker import Broker

log = logging.getLogger(__name__)

# How often files whose deletion was decided are looked at; the delay itself is file.delete.delay.ms.
_REMOVAL_INTERVAL_MS = 5_000
# Partitions handled before others get the loop again.
_BREATH = 64

Job = Callable[[int], Awaitable[None]]


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
            "removal": (_REMOVAL_INTERVAL_MS, self.remove_deleted),
        }
        self._deadlines: Deadlines[str] = Deadlines()

    async def run(self) -> None:
        now = self._clock.now()
        first = now + self._broker.settings.log.initial_task_delay_ms
        for name, (interval, _) in self._jobs.items():
            if interval != LONG_MAX:
                self._deadlines.set(name, first if name == "retention" else now + interval)
        while (next_at := self._deadlines.next) is not None:
            await asyncio.sleep(max(0, next_at - self._clock.now()) / 1000)
            now = self._clock.now()
            for name in self._deadlines.due(now):
                interval, job = self._jobs[name]
                await job(now)
                self._deadlines.set(name, now + interval)

    async def retain(self, now: int) -> None:
        for count, partition in enumerate(list(self._broker.replicas)):
            removed = partition.log.retain(now, up_to=partition.high_watermark)
            if removed:
                log.info(
                    "retention removed segments: partition=%s count=%s",
                    partition.name,
                    len(removed),
                )
            if count % _BREATH == _BREATH - 1:
                await asyncio.sleep(0)

    async def flush(self, now: int) -> None:
        due = [p.log for p in self._broker.replicas if p.log.needs_flush(now)]
        if due:
            self._broker.flusher.flush(due)

    async def expire_producers(self, now: int) -> None:
        for partition in self._broker.replicas:
            partition.log.expire_producers(now)

    async def remove_deleted(self, now: int) -> None:
        for partition in self._broker.replicas:
            partition.log.remove_deleted(now)

    async def checkpoint_recovery_points(self, now: int) -> None:
        """Sync what is not yet on disk, then say so: a crash then re-reads only what came after."""
        flushed = asyncio.Event()
        self._broker.flusher.flush([p.log for p in self._broker.replicas], flushed.set)
        await flushed.wait()
        await _write(
            directory.new_recovery_points() for directory in self._broker.replicas.directories
        )

    async def checkpoint_log_starts(self, now: int) -> None:
        await _write(directory.new_log_starts() for directory in self._broker.replicas.directories)

    async def checkpoint_high_watermarks(self, now: int) -> None:
        high_watermarks = self._broker.replicas.high_watermarks()
        await _write(
            directory.new_high_watermarks(high_watermarks)
            for directory in self._broker.replicas.directories
        )


async def _write(checkpoints: Iterable[Checkpoint | None]) -> None:
    for checkpoint in checkpoints:
        if checkpoint is not None:
            await asyncio.get_running_loop().run_in_executor(None, checkpoint.write)
