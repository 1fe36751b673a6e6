"""Offsets of points in time, asked of all leaders at once; consumers and Admin need it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster
from klamm.client.errors import error_of
from klamm.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

# Points that are not times.
LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3


class FoundOffset(NamedTuple):
    """The first record at or after the asked time. `timestamp` is -1 for the ends of the log."""

    offset: int
    timestamp: int
    leader_epoch: int


async def list_offsets(
    cluster: Cluster, times: Mapping[TopicPartition, int], *, isolation_level: int = 0
) -> dict[TopicPartition, FoundOffset | None]:
    """None where no record is as late. Tries again, with fresh metadata, what another leader may know."""
    found: dict[TopicPartition, FoundOffset | None] = {}

    async def attempt() -> None:
        left = {partition: time for partition, time in times.items() if partition not in found}
        failure = await _ask_leaders(cluster, left, isolation_level, found)
        if failure is not None:
            await cluster.refresh_quietly({p.topic for p in times if p not in found})
            raise failure

    await cluster.persist(attempt)
    return found


async def _ask_leaders(
    cluster: Cluster,
    times: Mapping[TopicPartition, int],
    isolation_level: int,
    found: dict[TopicPartition, FoundOffset | None],
) -> ApiError | None:
    by_leader: dict[int, dict[str, list[ListOffsetsPartition]]] = {}
    for partition, time in times.items():
        leader, view = await cluster.leader(partition)
        by_leader.setdefault(leader, {}).setdefault(partition.topic, []).append(
            ListOffsetsPartition(
                partition_index=partition.partition,
                current_leader_epoch=view.leader_epoch,
                timestamp=time,
            )
        )
    asked = [
        _ask_leader(cluster, leader, topics, isolation_level, found)
        for leader, topics in by_leader.items()
    ]
    failures = await asyncio.gather(*asked)
    return next((failure for failure in failures if failure is not None), None)


async def _ask_leader(
    cluster: Cluster,
    leader: int,
    topics: Mapping[str, list[ListOffsetsPartition]],
    isolation_level: int,
    found: dict[TopicPartition, FoundOffset | None],
) -> ApiError | None:
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=name, partitions=parts) for name, parts in topics.items()],
        timeout_ms=cluster.settings.request_timeout_ms,
    )
    try:
        answer = await cluster.ask(leader, request, ListOffsetsResponse)
    except ApiError as e:
        return e
    failure: ApiError | None = None
    for topic in answer.topics:
        for part in topic.partitions:
            partition = TopicPartition(topic.name, part.partition_index)
            if part.error_code:
                failure = error_of(part.error_code)
            elif part.offset < 0:
                found[partition] = None
            else:
                found[partition] = FoundOffset(part.offset, part.timestamp, part.leader_epoch)
    return failure
