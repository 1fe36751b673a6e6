"""When nothing goes wrong any more everything works again, within a bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import Admin, Producer, ProducerSettings
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.invariants.catalogue import invariant
from klamm.testing.scenarios.many_nodes.trouble import Trouble
from klamm.testing.workload.consumers import Member
from klamm.testing.workload.stage import Stage

# L1: all nodes are up, and all partitions have a leader and all their replicas in sync.
HEALED_SECONDS = 60.0
# L1: then a client can write to each partition, and see it committed.
WRITTEN_SECONDS = 20.0
# G3: the session of a member that is gone, the round without it, and a few heartbeats.
OWNED_SECONDS = 60.0


async def all_is_well(
    cluster: SimulatedCluster, trouble: Trouble, stage: Stage, members: Sequence[Member]
) -> list[str]:
    return [
        *await everything_heals(cluster, trouble),
        *await everybody_can_write(stage),
        *await every_partition_has_an_owner(cluster, stage, members),
    ]


@invariant("L1")
async def everything_heals(cluster: SimulatedCluster, trouble: Trouble) -> list[str]:
    if await _comes_true(cluster, trouble.is_healthy, HEALED_SECONDS):
        return []
    return [f"L1 everything_heals: not after {HEALED_SECONDS} s: {trouble.ailment()}"]


@invariant("L1")
async def everybody_can_write(stage: Stage) -> list[str]:
    places = stage.places("plain", "short", "compact")
    written: set[TopicPartition] = set()

    async def write() -> None:
        settings = ProducerSettings(client_id="prober", delivery_timeout_ms=60_000)
        producer: Producer[bytes | None, bytes | None] = Producer(
            stage.bootstrap, settings, environment=stage.enters("prober")
        )
        async with producer:
            for place in places:
                delivery = await producer.send(
                    place.topic, None, key=b"probe", partition=place.partition
                )
                await delivery
                written.add(place)

    stage.enters("prober")
    try:
        await asyncio.wait_for(stage.runs("prober", write()), WRITTEN_SECONDS)
    except (ApiError, TimeoutError) as e:
        left = [each for each in places if each not in written]
        return [f"L1 everybody_can_write: {e!r} at {left}"]
    return []


@invariant("G3")
async def every_partition_has_an_owner(
    cluster: SimulatedCluster, stage: Stage, members: Sequence[Member]
) -> list[str]:
    """A rebalance ends while members live and none comes or goes."""
    groups: dict[str, list[Member]] = {}
    for member in members:
        groups.setdefault(member.group, []).append(member)

    def missing() -> list[str]:
        return [
            f"{group}: {place}"
            for group, theirs in groups.items()
            for place in stage.places("plain", "short")
            if not any(place in each.owned for each in theirs)
        ]

    if await _comes_true(cluster, lambda: not missing(), OWNED_SECONDS):
        return []
    return [f"G3 every_partition_has_an_owner: not after {OWNED_SECONDS} s: {missing()}"]


@invariant("L1")
async def offsets_can_be_read(
    stage: Stage, groups: Sequence[str]
) -> tuple[dict[str, dict[TopicPartition, int]], list[str]]:
    """Committed offsets, as any client sees them; groups that nobody made yet have none."""
    found: dict[str, dict[TopicPartition, int]] = {}

    async def ask() -> None:
        async with Admin(stage.bootstrap, environment=stage.enters("looker")) as admin:
            for group in groups:
                with_offsets = await admin.groups.offsets(group)
                found[group] = {place: each.offset for place, each in with_offsets.items()}

    stage.enters("looker")
    try:
        await asyncio.wait_for(stage.runs("looker", ask()), 90)
    except (ApiError, TimeoutError) as e:
        return {}, [f"L1 offsets_can_be_read: {e!r}"]
    return found, []


async def _comes_true(
    cluster: SimulatedCluster, condition: Callable[[], bool], seconds: float
) -> bool:
    try:
        await cluster.until(condition, seconds)
    except TimeoutError:
        return False
    return True
