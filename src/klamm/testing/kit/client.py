"""The kit as a client of the broker: it writes and reads over the network, as any other does.

Every call has a loop of its own, which ends with it: nothing is left in the test's process. Inside a loop that runs, as in
a notebook, it is run in another thread.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Self, TypeVar

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client import (
    Admin,
    Consumer,
    ConsumerRecord,
    ConsumerSettings,
    Delivered,
    Producer,
    ProducerSettings,
)
from klamm.client.backoff import Backoff
from klamm.client.cluster import ClusterSettings
from klamm.testing.kit.records import Record, as_bytes, as_headers

T = TypeVar("T")
# Faults that name no client leave this one alone.
CLIENT_ID = "klamm-testing"
_BACKOFF = Backoff(initial_ms=5, max_ms=100)
_ADMIN = ClusterSettings(client_id=CLIENT_ID, retry_backoff=_BACKOFF)
_ABSENT = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_LOOK_AGAIN_SECONDS = 0.01


class Runner:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def run(self, work: Awaitable[T]) -> T:
        task = asyncio.ensure_future(work, loop=self._loop)
        if asyncio._get_running_loop() is None:
            return self._loop.run_until_complete(task)
        helper = threading.Thread(
            target=_run_until_done, args=(self._loop, task), name="klamm-testing"
        )
        helper.start()
        helper.join()
        return task.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.close()


def _run_until_done(loop: asyncio.AbstractEventLoop, task: asyncio.Future[Any]) -> None:
    with suppress(BaseException):
        loop.run_until_complete(task)


def administer(bootstrap: str, work: Callable[[Admin], Awaitable[T]]) -> T:
    async def with_admin() -> T:
        async with Admin(bootstrap, _ADMIN) as admin:
            return await work(admin)

    with Runner() as runner:
        return runner.run(with_admin())


def write(bootstrap: str, topic: str, records: Iterable[Record]) -> list[Record]:
    """Gives them back with their partitions, offsets and times."""
    settings = ProducerSettings(
        client_id=CLIENT_ID,
        idempotence=False,
        linger_ms=0,
        max_in_flight=1,
        retry_backoff=_BACKOFF,
        max_request_bytes=64 * 1024 * 1024,
    )

    async def send() -> list[Record]:
        async with Producer(bootstrap, settings) as producer:
            sent = [
                (
                    record,
                    await producer.send(
                        record.topic or topic,
                        as_bytes(record.value),
                        key=as_bytes(record.key),
                        partition=record.partition,
                        timestamp=record.timestamp,
                        headers=as_headers(record.headers),
                    ),
                )
                for record in records
            ]
            await producer.flush()
            return [_written(record, record.topic or topic, await done) for record, done in sent]

    with Runner() as runner:
        return runner.run(send())


def _written(record: Record, topic: str, delivered: Delivered) -> Record:
    return Record(
        record.value,
        record.key,
        record.headers,
        topic,
        delivered.partition,
        delivered.timestamp,
        delivered.offset,
    )


def count_records(bootstrap: str, starts: Mapping[TopicPartition, int]) -> Counter[TopicPartition]:
    """From these offsets on. Offsets alone would count markers of transactions and what compaction took."""

    async def read() -> Counter[TopicPartition]:
        found: Counter[TopicPartition] = Counter()
        async with Consumer(bootstrap, _reading(read_committed=True)) as consumer:
            consumer.assign(list(starts))
            for partition, offset in starts.items():
                consumer.seek(partition, offset)
            ends = await consumer.end_offsets(list(starts))
            while any([await consumer.position(each) < ends[each] for each in starts]):
                found.update(each.topic_partition for each in await consumer.poll(timeout_ms=100))
        return found

    with Runner() as runner:
        return runner.run(read())


def _reading(*, read_committed: bool) -> ConsumerSettings:
    return ConsumerSettings(
        client_id=CLIENT_ID,
        auto_offset_reset="earliest",
        auto_commit=False,
        auto_create_topics=False,
        read_committed=read_committed,
        retry_backoff=_BACKOFF,
        fetch_max_wait_ms=100,
        max_poll_records=100_000,
    )


class Reader:
    """Reads a topic from its beginning on, also one that does not exist yet."""

    def __init__(self, bootstrap: str, topic: str, *, read_committed: bool = True) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._settings = _reading(read_committed=read_committed)
        self._runner = Runner()
        self._consumer: Consumer[bytes | None, bytes | None] | None = None
        self._found: list[Record] = []
        # Nothing was there beyond what is in `records` when it was last asked.
        self.is_at_end = False

    @property
    def records(self) -> list[Record]:
        """So far, by partition and offset."""
        return sorted(self._found, key=lambda each: (each.partition, each.offset))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._runner:
            if self._consumer is not None:
                self._runner.run(self._consumer.close())

    def read_more(self, seconds: float) -> None:
        """Back as soon as there is more; at the latest then, or when all that was there is read."""
        self._runner.run(self._read_more(seconds))

    def read_all(self) -> None:
        """UNKNOWN_TOPIC_OR_PARTITION if there is no such topic."""
        self._runner.run(self._read_all())

    async def _read_all(self) -> None:
        await self._open()
        while not self.is_at_end:
            await self._poll(0.1)

    async def _read_more(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        count = len(self._found)
        while True:
            try:
                await self._open()
                await self._poll(max(0.0, min(deadline - time.monotonic(), 0.1)))
            except ApiError as e:
                if e.code not in _ABSENT:
                    raise
                self.is_at_end = True
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            is_over = time.monotonic() >= deadline and self.is_at_end
            if len(self._found) > count or is_over:
                return

    async def _open(self) -> None:
        if self._consumer is not None:
            return
        async with Admin(self._bootstrap, _ADMIN) as admin:
            # A consumer would wait for a topic that does not exist.
            view = await admin.topics.describe(self._topic)
        consumer = Consumer(self._bootstrap, self._settings)
        await consumer.start()
        consumer.assign([TopicPartition(self._topic, index) for index in view.partitions])
        self._consumer = consumer

    async def _poll(self, seconds: float) -> None:
        assert self._consumer is not None
        consumer = self._consumer
        partitions = list(consumer.assignment())
        ends = await consumer.end_offsets(partitions)
        self._found += map(_read, await consumer.poll(timeout_ms=int(seconds * 1000)))
        positions = {each: await consumer.position(each) for each in partitions}
        self.is_at_end = all(positions[each] >= ends[each] for each in partitions)


def _read(record: ConsumerRecord[bytes | None, bytes | None]) -> Record:
    return Record(
        record.value,
        record.key,
        tuple(record.headers),
        record.topic,
        record.partition,
        record.timestamp,
        record.offset,
    )
