"""`SELECT count(*) FROM topic` without Spark: batches say in their headers how many records they hold.

The number is the one that Spark would find. It costs the bytes over the wire, and nothing per record.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from threading import Event

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster
from klamm.client.consumer.completed_fetch import Fetched
from klamm.client.consumer.fetch_request import fetch_request, highest_version, parts_of
from klamm.client.consumer.settings import ConsumerSettings
from klamm.client.consumer.state import PartitionState
from klamm.client.errors import check
from klamm.client.list_offsets import EARLIEST, LATEST, list_offsets
from klamm.protocol.messages.fetch import FetchResponse

_COUNT = re.compile(
    r"\s*SELECT\s+COUNT\s*\(\s*[*1]\s*\)(?:\s+AS\s+(?P<alias>\w+))?\s+FROM\s+(?P<name>\w+|`(?:[^`]|``)+`)\s*;?\s*",
    re.IGNORECASE | re.ASCII,
)
_NAME_IN_SPARK = "count(1)"
_SETTINGS = ConsumerSettings(
    client_id="klamm-adhoc",
    read_committed=True,
    max_partition_fetch_bytes=4 * 1024 * 1024,
    auto_create_topics=False,
)
_READ_COMMITTED = 1


class CannotCount(Exception):
    """Spark may do better."""


def asks_for_a_count(sql: str) -> tuple[str, str] | None:
    """The name of what is to be counted, and of the column; None for any other statement."""
    found = _COUNT.fullmatch(sql)
    if found is None:
        return None
    name = found["name"]
    plain = name[1:-1].replace("``", "`") if name.startswith("`") else name
    return plain, found["alias"] or _NAME_IN_SPARK


def count_records(
    bootstrap: str, topic: str, client: Mapping[str, str], *, stop: Event | None = None
) -> int:
    """What a reader of committed records finds now. Raises CannotCount, also when `stop` is set."""
    if client:
        raise CannotCount("this client knows no encryption and no login")
    try:
        return asyncio.run(_count(bootstrap, topic, stop or Event()))
    except (ApiError, CorruptFrame, OSError) as error:
        raise CannotCount(str(error)) from error


async def _count(bootstrap: str, topic: str, stop: Event) -> int:
    cluster = Cluster(bootstrap, _SETTINGS.for_cluster())
    try:
        numbers = (await cluster.topic(topic)).partitions
        partitions = [TopicPartition(topic, number) for number in numbers]
        begins = await _edges(cluster, partitions, EARLIEST)
        ends = await _edges(cluster, partitions, LATEST)
        counting = (_count_one(cluster, p, begins[p], ends[p], stop) for p in partitions)
        return sum(await asyncio.gather(*counting))
    finally:
        cluster.close()


async def _edges(
    cluster: Cluster, partitions: list[TopicPartition], edge: int
) -> dict[TopicPartition, int]:
    times = dict.fromkeys(partitions, edge)
    found = await list_offsets(cluster, times, isolation_level=_READ_COMMITTED)
    return {partition: each.offset if each else 0 for partition, each in found.items()}


async def _count_one(
    cluster: Cluster, partition: TopicPartition, begin: int, end: int, stop: Event
) -> int:
    count = 0
    while begin < end:
        if stop.is_set():
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "nobody waits for it any more")
        fetched = await _fetch(cluster, partition, begin)
        count += fetched.count(end)
        if fetched.next_offset <= begin:
            raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"{partition} has nothing at {begin}")
        begin = fetched.next_offset
    return count


async def _fetch(cluster: Cluster, partition: TopicPartition, offset: int) -> Fetched:
    leader, _ = await cluster.leader(partition)
    wanted = {partition: PartitionState(position=offset)}
    view = cluster.view
    answer = await cluster.ask(
        leader,
        fetch_request(wanted, view, _SETTINGS),
        FetchResponse,
        at_most=highest_version(wanted, view),
    )
    check(answer.error_code)
    [(_, part)] = parts_of(answer, view)
    check(part.error_code)
    return Fetched(partition, offset, part.records or b"", part.aborted_transactions or ())
