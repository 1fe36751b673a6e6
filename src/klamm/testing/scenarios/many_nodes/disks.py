"""Faults of disks: no room, no sync, no hurry."""

from __future__ import annotations

import asyncio
from random import Random

from klamm.testing.disk import Loss
from klamm.testing.scenarios.many_nodes.trouble import Trouble


async def full_disk(trouble: Trouble, rng: Random) -> None:
    """Nothing can be written for a while. The node ends by itself, or is started again when there is room."""
    node_id = trouble.somebody(rng)
    if trouble.is_spared("full disk") or node_id is None:
        return
    disk, process = trouble.cluster.machine(node_id).disk, trouble.cluster.machine(node_id).process
    trouble.tell(f"the disk of node {node_id} is full")
    trouble.unwell.add(node_id)
    disk.is_full = True
    await asyncio.sleep(rng.choice((1.0, 5.0, 15.0)))
    disk.is_full = False
    trouble.unwell.discard(node_id)
    trouble.tell(f"the disk of node {node_id} has room again")
    if process is not None and not process.is_dead:
        trouble.die(node_id)
    trouble.begin(node_id)


async def broken_disk(trouble: Trouble, rng: Random) -> None:
    """Syncs fail, and what was not synced is lost: as with the power, one node may have that at a time."""
    node_id = trouble.somebody(rng)
    if trouble.is_spared("broken disk") or node_id is None or not trouble.may_lose():
        return
    trouble.fragile = node_id
    disk = trouble.cluster.machine(node_id).disk
    trouble.tell(f"the disk of node {node_id} syncs no more")
    disk.broken = "/data"
    await asyncio.sleep(rng.choice((2.0, 10.0)))
    disk.broken = None
    if trouble.cluster.is_up(node_id):
        trouble.die(node_id, Loss.ANY)
    else:
        trouble.cluster.power_off(node_id, Loss.ANY)
    trouble.begin(node_id)
    await trouble.until_whole(node_id)


async def slow_disk(trouble: Trouble, rng: Random) -> None:
    if (node_id := trouble.somebody(rng)) is None:
        return
    seconds = rng.choice((0.05, 0.5, 2.0))
    trouble.tell(f"the disk of node {node_id} takes up to {seconds} s")
    trouble.slow_down(node_id, seconds)
    await asyncio.sleep(rng.choice((3, 10, 20)))
    trouble.quicken(node_id)
