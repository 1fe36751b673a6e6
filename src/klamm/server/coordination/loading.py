"""A shard's past: its partition's log is replayed before the first request, a few milliseconds at a time."""

from __future__ import annotations

import asyncio

from klamm.coordinator.shard import Shard
from klamm.server.coordination.partition_log import End, PartitionLog
from klamm.server.world.ports import Turns


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
