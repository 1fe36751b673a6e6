"""What there is when all is quiet: the logs batch by batch, what new readers find in them, and offsets of groups."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence

from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as Partition

from chaos.cluster.checker.evidence import FoundOffset, Log, Written
from chaos.cluster.workload.confluent_readers import isolation
from chaos.cluster.workload.confluent_writers import COMMON
from chaos.cluster.workload.klamm_writers import BACKOFF, reader_settings
from klamm.base.ids import TopicPartition
from klamm.client import Admin, Consumer
from klamm.client.cluster import Cluster, ClusterSettings
from klamm.client.consumer.fetch_request import FETCH_BY_NAME
from klamm.client.errors import TimedOut, check
from klamm.client.list_offsets import LATEST, list_offsets
from klamm.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from klamm.protocol.records.batch import batches, check_crc
from klamm.protocol.records.control import read_end_marker
from klamm.protocol.records.reader import read_records

SECONDS = 120.0
Found = dict[TopicPartition, dict[int, bytes]]
_SETTINGS = ClusterSettings(
    client_id="chaos",
    request_timeout_ms=10_000,
    connect_timeout_ms=3_000,
    api_timeout_ms=int(SECONDS * 1000),
    retry_backoff=BACKOFF,
)


def scan(bootstrap: str, places: Iterable[TopicPartition]) -> dict[TopicPartition, Log]:
    """Every record of each, and what became of its transaction."""

    async def run() -> dict[TopicPartition, Log]:
        cluster = Cluster(bootstrap, _SETTINGS)
        try:
            return {place: await _scan(cluster, place) for place in places}
        finally:
            cluster.close()

    return asyncio.run(run())


async def _scan(cluster: Cluster, place: TopicPartition) -> Log:
    records: list[Written] = []
    undecided: dict[int, list[int]] = {}
    offset = 0
    while data := await _fetch(cluster, place, offset):
        for header, batch in batches(data, partial_end=True):
            assert check_crc(batch), f"{place}@{header.base_offset}: the checksum is wrong"
            if header.is_control:
                marker = read_end_marker(batch)
                for at in undecided.pop(header.producer_id, ()) if marker else ():
                    records[at] = records[at]._replace(is_committed=marker.is_commit)
            else:
                for number, record in enumerate(read_records(batch)):
                    if header.is_transactional:
                        undecided.setdefault(header.producer_id, []).append(len(records))
                    records.append(
                        Written(
                            record.offset,
                            record.value or b"",
                            header.producer_id,
                            header.producer_epoch,
                            (header.base_sequence + number) & 0x7FFFFFFF,
                            header.is_transactional,
                            None if header.is_transactional else True,
                        )
                    )
            offset = header.last_offset + 1
    return Log(records, offset)


async def _fetch(cluster: Cluster, place: TopicPartition, offset: int) -> bytes:
    part = FetchPartition(
        partition=place.partition, fetch_offset=offset, partition_max_bytes=1 << 20
    )
    request = FetchRequest(
        session_epoch=-1,
        max_wait_ms=0,
        min_bytes=1,
        topics=[FetchTopic(topic=place.topic, partitions=[part])],
    )

    async def attempt() -> bytes:
        leader, _ = await cluster.leader(place)
        answer = await cluster.ask(leader, request, FetchResponse, at_most=FETCH_BY_NAME)
        found = answer.responses[0].partitions[0]
        if found.error_code:
            await cluster.refresh_quietly([place.topic])
        check(found.error_code)
        return bytes(found.records or b"")

    return await cluster.persist(attempt)


def are_stable(bootstrap: str, places: Sequence[TopicPartition]) -> bool:
    """Whether no transaction holds anything back."""

    async def run() -> bool:
        cluster = Cluster(bootstrap, _SETTINGS)
        try:
            asked = dict.fromkeys(places, LATEST)
            ends = await list_offsets(cluster, asked)
            stable = await list_offsets(cluster, asked, isolation_level=1)
        finally:
            cluster.close()
        return all(
            ends[place] is not None
            and stable[place] is not None
            and ends[place].offset == stable[place].offset  # type: ignore[union-attr]
            for place in places
        )

    return asyncio.run(run())


async def is_whole(admin: Admin) -> bool:
    """All replicas are in sync, and nothing is on the move."""
    topics = await admin.topics.list(internal=True)
    parts = [part for topic in topics for part in topic.partitions.values()]
    return not await admin.partitions.reassignments() and all(
        part.leader is not None and set(part.isr) == set(part.replicas) for part in parts
    )


def read_with_confluent(
    bootstrap: str, places: Sequence[TopicPartition], *, is_committed: bool
) -> Found:
    consumer = ConfluentConsumer(
        {
            **COMMON,
            "bootstrap.servers": bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation(is_committed),
        }
    )
    found: Found = {place: {} for place in places}
    left = set(places)
    consumer.assign([Partition(place.topic, place.partition, 0) for place in places])
    deadline = time.monotonic() + SECONDS
    try:
        while left:
            if time.monotonic() > deadline:
                raise TimedOut(f"the end of {sorted(left)} is not reached")
            for message in consumer.consume(1000, 0.2):
                place = TopicPartition(message.topic(), message.partition())
                error = message.error()
                if error is None:
                    found[place][message.offset()] = message.value()
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(place)
    finally:
        consumer.close()
    return found


def read_with_klamm(
    bootstrap: str, places: Sequence[TopicPartition], *, is_committed: bool
) -> Found:
    async def run() -> Found:
        found: Found = {place: {} for place in places}
        settings = reader_settings(is_committed=is_committed)
        async with asyncio.timeout(SECONDS), Consumer(bootstrap, settings) as consumer:
            consumer.assign(places)
            ends = await consumer.end_offsets(places)
            while any([await consumer.position(p) < end for p, end in ends.items()]):
                for record in await consumer.poll(timeout_ms=200, max_records=2000):
                    found[record.topic_partition][record.offset] = record.value or b""
        return found

    return asyncio.run(run())


async def offsets_of(
    admin: Admin, group: str, places: Sequence[TopicPartition]
) -> dict[tuple[str, TopicPartition], FoundOffset]:
    invoked = time.monotonic()
    found = await admin.groups.offsets(group, places)
    completed = time.monotonic()
    return {
        (group, place): FoundOffset(
            found[place].offset if place in found else 0, invoked, completed
        )
        for place in places
    }
