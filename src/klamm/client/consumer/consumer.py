"""The consumer as its users see it.

    async with Consumer("localhost:9092", ConsumerSettings(group_id="readers")) as consumer:
        await consumer.subscribe(["topic"])
        async for record in consumer:
            print(record.value)

One task at a time may poll, commit or seek. What a poll gave out counts as read when the next one is called: that is
what automatic commits go by.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Generic, Self, TypeVar, cast, overload

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster
from klamm.client.consumer.classic import ClassicMembership
from klamm.client.consumer.commits import Commits, fetch_committed
from klamm.client.consumer.fetcher import Fetcher
from klamm.client.consumer.membership import (
    Changes,
    Membership,
    RebalanceListener,
    Subscription,
)
from klamm.client.consumer.positions import Positions
from klamm.client.consumer.record import ConsumerRecord
from klamm.client.consumer.server_side import ServerSideMembership
from klamm.client.consumer.settings import ConsumerSettings
from klamm.client.consumer.state import Assignment, PartitionState
from klamm.client.environment import Environment
from klamm.client.list_offsets import EARLIEST, LATEST, FoundOffset, list_offsets
from klamm.client.metadata import TopicView
from klamm.client.offsets import CommittedOffset, GroupMetadata
from klamm.client.serializers import Bytes, Deserializer, as_is
from klamm.protocol.records.batch import BatchHeader
from klamm.protocol.records.reader import Record

K = TypeVar("K")
V = TypeVar("V")

_FOR_EVER_MS = 1_000_000_000


class Consumer(Generic[K, V]):
    """Begins to work with `start`, or `async with`; `close` commits, if told to, and leaves the group."""

    @overload
    def __init__(
        self: Consumer[Bytes, Bytes],
        bootstrap: str | Iterable[str],
        settings: ConsumerSettings | None = None,
        *,
        environment: Environment | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        bootstrap: str | Iterable[str],
        settings: ConsumerSettings | None = None,
        *,
        key_deserializer: Deserializer[K],
        value_deserializer: Deserializer[V],
        environment: Environment | None = None,
    ) -> None: ...

    def __init__(
        self,
        bootstrap: str | Iterable[str],
        settings: ConsumerSettings | None = None,
        *,
        key_deserializer: Deserializer[K] | None = None,
        value_deserializer: Deserializer[V] | None = None,
        environment: Environment | None = None,
    ) -> None:
        self.settings = settings or ConsumerSettings()
        self._cluster = Cluster(bootstrap, self.settings.for_cluster(), environment)
        self._read_key = key_deserializer or cast("Deserializer[K]", as_is)
        self._read_value = value_deserializer or cast("Deserializer[V]", as_is)
        self._assignment = Assignment()
        self._news = asyncio.Event()
        self._fetcher = Fetcher(self._cluster, self.settings, self._assignment, self._news.set)
        self._positions = Positions(self._cluster, self.settings, self._assignment)
        self._commits = Commits(
            self._cluster, self.settings, self._assignment, self.group_metadata, self._refused
        )
        self._membership: Membership | None = None
        self._finding: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._subscribed: Subscription | None = None
        self._is_closed = False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._fetcher.run()),
            asyncio.create_task(self._keep_fresh()),
        ]

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._finding is not None:
            self._finding.cancel()
        try:
            if self._membership is not None:
                await self._membership.leave()
            else:
                await self._commits.before_revocation()
        finally:
            await self._commits.stop()
            running = [t for t in (self._finding, *self._tasks) if t is not None]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self._cluster.close()

    # What to read.

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Read these, without a group's help. Those that were assigned before keep their positions."""
        if self._membership is not None:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a subscribed consumer cannot assign")
        self._assignment.replace(partitions)
        self._fetcher.wake()

    async def subscribe(
        self,
        topics: Collection[str] = (),
        *,
        pattern: str | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Share topics with the other members of the group. A new subscription replaces the old one."""
        if self.settings.group_id is None:
            raise ApiError(ErrorCode.INVALID_GROUP_ID, "subscribing takes a group_id")
        if bool(topics) == (pattern is not None):
            raise ApiError(ErrorCode.INVALID_REQUEST, "subscribe to topics or to a pattern")
        await self.unsubscribe()
        subscription = Subscription(frozenset(topics), re.compile(pattern) if pattern else None)
        changes = Changes(
            self._assignment, listener or RebalanceListener(), self._commits.before_revocation
        )
        is_classic = self.settings.group_protocol == "classic"
        kind = ClassicMembership if is_classic else ServerSideMembership
        self._subscribed = subscription
        self._membership = kind(self._cluster, self.settings, subscription, changes, self._news.set)

    async def unsubscribe(self) -> None:
        if self._membership is not None:
            await self._membership.leave()
        self._membership = None
        self._subscribed = None
        self._assignment.replace(())

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self._assignment)

    def group_metadata(self) -> GroupMetadata:
        """For Producer.send_offsets."""
        if self._membership is not None:
            return self._membership.metadata
        if self.settings.group_id is None:
            raise ApiError(ErrorCode.INVALID_GROUP_ID, "the consumer has no group_id")
        return GroupMetadata(self.settings.group_id)

    def _refused(self, code: ErrorCode) -> None:
        if self._membership is not None:
            self._membership.commit_refused(code)

    # Reading.

    async def poll(
        self, *, timeout_ms: int = 0, max_records: int | None = None
    ) -> list[ConsumerRecord[K, V]]:
        """Records as soon as there are some, none when time is up. Rebalances and their listeners run in here."""
        deadline = self._now() + timeout_ms / 1000
        most = max_records or self.settings.max_poll_records
        while True:
            self._news.clear()
            self._check_running()
            if self._membership is not None:
                await self._membership.step()
            self._commits.commit_if_due(self._now())
            self._find_positions()
            taken = self._take(most)
            self._fetcher.wake()
            if taken:
                return taken
            try:
                async with asyncio.timeout_at(deadline):
                    await self._news.wait()
            except TimeoutError:
                return []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConsumerRecord[K, V]:
        """One record at a time, so that the position is always that of the record in hand."""
        while True:
            records = await self.poll(timeout_ms=_FOR_EVER_MS, max_records=1)
            if records:
                return records[0]

    def _take(self, most: int) -> list[ConsumerRecord[K, V]]:
        taken: list[ConsumerRecord[K, V]] = []
        for partition, header, record in self._fetcher.take(most):
            try:
                taken.append(self._read(partition, header, record))
            except Exception as e:
                # A deserializer may raise anything. What came before is given out; the next poll meets this record again, until a seek passes it.
                self._state(partition).seek(record.offset)
                if taken:
                    return taken
                e.add_note(f"in {partition} at offset {record.offset}")
                raise
        return taken

    def _read(
        self, partition: TopicPartition, header: BatchHeader, record: Record
    ) -> ConsumerRecord[K, V]:
        return ConsumerRecord(
            partition.topic,
            partition.partition,
            record.offset,
            record.timestamp,
            header.is_log_append_time,
            self._read_key(record.key),
            self._read_value(record.value),
            record.headers,
            header.leader_epoch,
        )

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self._state(partition).is_paused = True

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self._state(partition).is_paused = False
        self._fetcher.wake()

    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(p for p, state in self._assignment.partitions.items() if state.is_paused)

    # Positions.

    def seek(self, partition: TopicPartition, offset: int) -> None:
        if offset < 0:
            raise ValueError(f"offset {offset}")
        self._state(partition).seek(offset)
        self._fetcher.wake()

    def seek_to_beginning(self, partitions: Collection[TopicPartition] = ()) -> None:
        for partition in partitions or self._assignment:
            self._state(partition).reset_to("earliest")

    def seek_to_end(self, partitions: Collection[TopicPartition] = ()) -> None:
        for partition in partitions or self._assignment:
            self._state(partition).reset_to("latest")

    async def seek_to_time(self, time_ms: int, partitions: Collection[TopicPartition] = ()) -> None:
        """Replay from a moment on; to the end of partitions that have nothing as late."""
        wanted = dict.fromkeys(partitions or self._assignment, time_ms)
        found = await self.offsets_for_times(wanted)
        for partition, at in found.items():
            if at is None:
                self._state(partition).reset_to("latest")
            else:
                self._state(partition).seek(at.offset, at.leader_epoch)
        self._fetcher.wake()

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that a poll will give."""
        while (found := self._state(partition).position) is None:
            await self._positions.find()
            await asyncio.sleep(0)
        return found

    def lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end that this consumer may read; None until a fetch has told."""
        state = self._state(partition)
        read_committed = self.settings.read_committed
        end = state.last_stable_offset if read_committed else state.high_watermark
        return None if end is None or state.position is None else max(0, end - state.position)

    async def offsets_for_times(
        self, times: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, FoundOffset | None]:
        return await list_offsets(
            self._cluster, times, isolation_level=self.settings.isolation_level
        )

    async def beginning_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        return await self._ends(partitions, EARLIEST)

    async def end_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        return await self._ends(partitions, LATEST)

    async def _ends(
        self, partitions: Collection[TopicPartition], which: int
    ) -> dict[TopicPartition, int]:
        found = await self.offsets_for_times(dict.fromkeys(partitions, which))
        return {partition: at.offset for partition, at in found.items() if at is not None}

    async def partitions_for(self, topic: str) -> TopicView:
        return await self._cluster.topic(topic)

    # Commits.

    async def commit(self, offsets: Mapping[TopicPartition, CommittedOffset] | None = None) -> None:
        """Store these offsets, or all positions; back when the coordinator has them."""
        await self._commits.commit(offsets)

    def commit_soon(
        self, offsets: Mapping[TopicPartition, CommittedOffset] | None = None
    ) -> asyncio.Task[None]:
        """The same without waiting; the task tells how it went. Commits go out in the order of their calls."""
        return self._commits.commit_soon(offsets)

    async def committed(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, CommittedOffset]:
        return await fetch_committed(self._cluster, self.group_metadata().group_id, partitions)

    # Inside.

    def _check_running(self) -> None:
        if self._is_closed or not self._tasks:
            raise ApiError(ErrorCode.INVALID_REQUEST, "the consumer is not running")
        for task in self._tasks:
            if task.done():
                task.result()

    def _find_positions(self) -> None:
        if self._finding is not None and self._finding.done():
            finding, self._finding = self._finding, None
            finding.result()
        if self._finding is None and self._positions.are_wanted:
            self._finding = asyncio.create_task(self._positions.find())
            self._finding.add_done_callback(lambda _: self._news.set())

    def _state(self, partition: TopicPartition) -> PartitionState:
        state = self._assignment.get(partition)
        if state is None:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{partition} is not assigned")
        return state

    async def _keep_fresh(self) -> None:
        """New partitions, and new topics that a pattern matches, show themselves in time."""
        while True:
            await asyncio.sleep(self.settings.metadata_max_age_ms / 1000)
            with suppress(ApiError):
                has_pattern = self._subscribed is not None and self._subscribed.pattern is not None
                known = sorted({p.topic for p in self._assignment} | self._topics())
                await self._cluster.refresh(None if has_pattern else known)
            self._news.set()

    def _topics(self) -> frozenset[str]:
        return frozenset() if self._subscribed is None else self._subscribed.topics

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
