"""Faults of processes and machines: they die, lose their power, stand still, start anew."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random

from klamm.testing.disk import Loss
from klamm.testing.scenarios.many_nodes.trouble import Trouble


async def kill(trouble: Trouble, rng: Random) -> None:
    if trouble.is_spared("kill") or (node_id := trouble.somebody(rng)) is None:
        return
    trouble.die(node_id)
    await asyncio.sleep(rng.choice((0.0, 1.0, 15.0)))
    trouble.begin(node_id)


async def power_failure(trouble: Trouble, rng: Random) -> None:
    """Of one node, while all others have everything: what it had not synced is on them."""
    node_id = trouble.somebody(rng)
    if trouble.is_spared("power failure") or node_id is None or not trouble.may_lose():
        return
    trouble.fragile = node_id
    trouble.die(node_id, Loss.ANY)
    await _comes_back(trouble, rng, node_id)


async def crash_in_the_middle(trouble: Trouble, rng: Random) -> None:
    """Of whatever the disk does then; the power fails, if that may be, or else the process is killed."""
    node_id = trouble.somebody(rng)
    if trouble.is_spared("crash") or node_id is None:
        return
    loss = rng.choice((Loss.ANY, Loss.NOTHING)) if trouble.may_lose() else Loss.NOTHING
    if loss is Loss.ANY:
        trouble.fragile = node_id
    disk = trouble.cluster.machine(node_id).disk
    died = asyncio.Event()

    def dies() -> None:
        trouble.tell(f"node {node_id} is in the middle of writing")
        trouble.die(node_id, loss)
        died.set()

    disk.crash_after(rng.randrange(60), dies)
    try:
        async with asyncio.timeout(20):
            await died.wait()
    except TimeoutError:
        disk.steps_left = -1
        trouble.die(node_id, loss)
    if loss is Loss.ANY:
        await _comes_back(trouble, rng, node_id)
    else:
        await asyncio.sleep(rng.choice((0.0, 2.0, 10.0)))
        trouble.begin(node_id)


async def _comes_back(trouble: Trouble, rng: Random, node_id: int) -> None:
    await asyncio.sleep(rng.choice((0.0, 2.0, 20.0)))
    trouble.begin(node_id)
    await trouble.until_whole(node_id)


async def kill_all(trouble: Trouble, rng: Random) -> None:
    """Nothing is lost by that: the machines go on."""
    if trouble.is_spared("end of all"):
        return
    for node_id in trouble.cluster.living:
        trouble.die(node_id)
    await asyncio.sleep(rng.choice((0.0, 5.0)))
    for node_id in rng.sample(trouble.cluster.ids, len(trouble.cluster.ids)):
        trouble.begin(node_id)
        await asyncio.sleep(rng.choice((0.0, 0.0, 3.0)))


async def pause(trouble: Trouble, rng: Random) -> None:
    if (node_id := trouble.somebody(rng)) is None:
        return
    seconds = rng.choice((0.5, 3.0, 12.0))
    trouble.tell(f"node {node_id} stands still for {seconds} s")
    trouble.cluster.pause(node_id)
    await asyncio.sleep(seconds)
    trouble.cluster.resume(node_id)


async def restart(trouble: Trouble, rng: Random) -> None:
    """A clean one."""
    if trouble.is_spared("restart") or (node_id := trouble.somebody(rng)) is None:
        return
    process = trouble.cluster.machine(node_id).process
    trouble.tell(f"node {node_id} is stopped")
    trouble.unwell.add(node_id)
    with suppress(TimeoutError):
        await asyncio.wait_for(trouble.cluster.stop(node_id), 30)
    trouble.unwell.discard(node_id)
    if process is not None and not process.is_dead:
        trouble.die(node_id)
    trouble.begin(node_id)


async def set_clock(trouble: Trouble, rng: Random) -> None:
    node_id = rng.choice(trouble.cluster.ids)
    by = rng.choice((rng.randint(-5_000, 5_000), rng.randint(-60_000, 60_000)))
    trouble.tell(f"the clock of node {node_id} is set by {by} ms")
    trouble.cluster.machine(node_id).clock.wall_error_ms += by
