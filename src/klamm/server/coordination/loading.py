"""A shard's past: its partition's log is replayed before the first request, a few milliseconds at a time."""

from __future__ import annotations

import asyncio
from time import perf_counter

from klamm.coordinator.shard import Shard
from klamm.server.coordination.partition_log import End, PartitionLog

_TURN_SECONDS = 0.005


async def load(shard: Shard, log: PartitionLog, read_at_once: int) -> None:
    end = perf_counter() + _TURN_SECONDS
    for step in log.replay(read_at_once):
        if step is None:
            if perf_counter() > end:
                await asyncio.sleep(0)
                end = perf_counter() + _TURN_SECONDS
        elif isinstance(step, End):
            shard.replay_end(step.producer, step.is_commit)
        else:
            shard.replay(step.record, step.offset, step.producer)
