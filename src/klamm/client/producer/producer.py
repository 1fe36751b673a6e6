"""The producer as its users see it.

    async with Producer("localhost:9092") as producer:
        delivery = await producer.send("topic", b"value", key=b"key")
        print(await delivery)

`send` waits only for metadata and for room in the buffer; the future it gives tells where the record went.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Generic, Self, TypeVar, cast, overload

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster
from klamm.client.environment import Environment
from klamm.client.errors import ProducerFailed, TransactionFailed
from klamm.client.metadata import TopicView
from klamm.client.offsets import CommittedOffset, GroupMetadata
from klamm.client.producer.accumulator import Accumulator
from klamm.client.producer.batch import Batch, Delivered, Delivery, record_size
from klamm.client.producer.memory import Memory
from klamm.client.producer.partitioner import Partitioner, Question, StickyPartitioner
from klamm.client.producer.sender import Sender
from klamm.client.producer.sequences import Sequences
from klamm.client.producer.settings import ProducerSettings
from klamm.client.producer.transactions import Transactions
from klamm.client.serializers import Bytes, Serializer, as_is
from klamm.protocol.records.batch import HEADER_SIZE
from klamm.protocol.records.reader import Header, Record

K = TypeVar("K")
V = TypeVar("V")


class Producer(Generic[K, V]):
    """Begins to work with `start`, or `async with`; `close` delivers what is left."""

    @overload
    def __init__(
        self: Producer[Bytes, Bytes],
        bootstrap: str | Iterable[str],
        settings: ProducerSettings | None = None,
        *,
        partitioner: Partitioner | None = None,
        environment: Environment | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        bootstrap: str | Iterable[str],
        settings: ProducerSettings | None = None,
        *,
        key_serializer: Serializer[K],
        value_serializer: Serializer[V],
        partitioner: Partitioner | None = None,
        environment: Environment | None = None,
    ) -> None: ...

    def __init__(
        self,
        bootstrap: str | Iterable[str],
        settings: ProducerSettings | None = None,
        *,
        key_serializer: Serializer[K] | None = None,
        value_serializer: Serializer[V] | None = None,
        partitioner: Partitioner | None = None,
        environment: Environment | None = None,
    ) -> None:
        self.settings = settings or ProducerSettings()
        self._cluster = Cluster(bootstrap, self.settings.for_cluster(), environment)
        self._clock = self._cluster.environment.clock
        self._key_serializer = key_serializer or cast("Serializer[K]", as_is)
        self._value_serializer = value_serializer or cast("Serializer[V]", as_is)
        self._partition_of: Partitioner = partitioner or StickyPartitioner(
            self._cluster.environment.rng, self.settings.batch_bytes
        )
        self._memory = Memory(self.settings.buffer_bytes)
        self._accumulator = Accumulator(
            self.settings.batch_bytes,
            self.settings.linger_ms / 1000,
            self.settings.delivery_timeout_ms / 1000,
        )
        # In the order in which they were sent.
        self._undelivered: dict[Delivery, None] = {}
        transactional_id = self.settings.transactional_id
        sequences = Sequences(self.settings.max_in_flight, transactional_id is not None)
        self._transactions = (
            None
            if transactional_id is None
            else Transactions(
                self._cluster, transactional_id, self.settings.transaction_timeout_ms, sequences
            )
        )
        self._sender = Sender(
            self._cluster,
            self.settings,
            self._accumulator,
            sequences=sequences,
            transactions=self._transactions,
            finished=self._finished,
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: ApiError | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self.close(discard=kind is not None)

    async def start(self) -> None:
        """A producer with a transactional id takes it over here."""
        self._tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._keep_fresh())]
        if self._transactions is not None:
            try:
                await self._transactions.init()
            except BaseException:
                await self.close(discard=True)
                raise

    async def close(self, *, timeout_ms: int | None = None, discard: bool = False) -> None:
        """Deliver what was sent, or drop it, then stop. A transaction that is open is aborted."""
        if self._failure is None:
            with suppress(TimeoutError, ApiError):
                async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                    await self._finish(discard=discard)
        closed = ProducerFailed(ErrorCode.NETWORK_EXCEPTION, "the producer is closed")
        self._failure = self._failure or closed
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._cluster.close()

    async def _finish(self, *, discard: bool) -> None:
        if self._transactions is not None and self._transactions.is_open:
            await self.abort()
        elif not discard:
            await self.flush()
            if self.settings.acks == 0:
                await self._cluster.settle()

    # Records.

    async def send(
        self,
        topic: str,
        value: V,
        *,
        key: K | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Sequence[Header] = (),
    ) -> Delivery:
        """Hand a record over. Await the result to know that it was written, and where."""
        self._check_usable()
        key_bytes = None if key is None else self._key_serializer(key)
        value_bytes = self._value_serializer(value)
        size = record_size(key_bytes, value_bytes, headers)
        self._check_size(size)
        await self._memory.take(size, self.settings.max_block_ms / 1000)
        try:
            view = await self._cluster.topic(topic, within_ms=self.settings.max_block_ms)
            if partition is None:
                partition = self._choose(view, key_bytes, value_bytes, size)
            elif partition not in view.partitions:
                view = await self._with_partition(view, partition)
            self._check_usable()
        except BaseException:
            self._memory.give_back(size)
            raise
        record = Record(
            timestamp=self._clock.wall() if timestamp is None else timestamp,
            key=key_bytes,
            value=value_bytes,
            headers=headers,
        )
        return self._append(TopicPartition(topic, partition), record, size)

    async def send_and_wait(
        self,
        topic: str,
        value: V,
        *,
        key: K | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Sequence[Header] = (),
    ) -> Delivered:
        delivery = await self.send(
            topic, value, key=key, partition=partition, timestamp=timestamp, headers=headers
        )
        return await delivery

    async def flush(self) -> None:
        """Wait until everything sent so far was delivered or failed."""
        waiting = set(self._undelivered)
        if waiting:
            self._accumulator.flush(asyncio.get_running_loop().time())
            self._sender.wake()
            await asyncio.wait(waiting)

    async def partitions_for(self, topic: str) -> TopicView:
        return await self._cluster.topic(topic)

    # Transactions.

    def begin(self) -> None:
        self._transactional.begin()

    async def commit(self) -> None:
        """All or nothing: raises TransactionFailed if any record of the transaction was not delivered."""
        await self.flush()
        await self._transactional.commit()

    async def abort(self) -> None:
        """Records that are still here are not sent; those written will not be seen by read_committed."""
        transactions = self._transactional
        error = TransactionFailed(ErrorCode.TRANSACTION_ABORTABLE, "the transaction was aborted")
        self._sender.drop_unsent(error)
        await self.flush()
        await transactions.abort()

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, CommittedOffset], group: GroupMetadata
    ) -> None:
        await self._transactional.send_offsets(offsets, group)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Commits at the end of the block; an exception in it aborts."""
        self.begin()
        try:
            yield
            await self.commit()
        except ProducerFailed:
            raise
        except BaseException:
            with suppress(ApiError):
                await self.abort()
            raise

    @property
    def _transactional(self) -> Transactions:
        if self._transactions is None:
            raise ApiError(ErrorCode.INVALID_TXN_STATE, "the producer has no transactional id")
        self._check_not_failed()
        return self._transactions

    # Inside.

    def _choose(self, view: TopicView, key: Bytes, value: Bytes, size: int) -> int:
        with_leader = tuple(i for i, p in view.partitions.items() if p.leader is not None)
        available = with_leader or tuple(view.partitions)
        question = Question(view.name, key, value, view.count, available, size)
        chosen = self._partition_of(question)
        if chosen not in view.partitions:
            raise ValueError(f"the partitioner chose partition {chosen} of {view.count}")
        return chosen

    async def _with_partition(self, view: TopicView, partition: int) -> TopicView:
        """The topic may have grown since we looked."""
        await self._cluster.refresh([view.name])
        found = self._cluster.view.topics.get(view.name, view)
        if partition not in found.partitions:
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"{view.name} has {found.count} partitions, not {partition}",
            )
        return found

    def _append(self, partition: TopicPartition, record: Record, size: int) -> Delivery:
        loop = asyncio.get_running_loop()
        delivery: Delivery = loop.create_future()
        self._undelivered[delivery] = None
        delivery.add_done_callback(self._undelivered.pop)
        if self._accumulator.append(partition, record, size, delivery, loop.time()):
            self._sender.wake()
        return delivery

    def _finished(self, batch: Batch) -> None:
        self._memory.give_back(batch.size - HEADER_SIZE)

    def _check_size(self, size: int) -> None:
        most = min(self.settings.max_request_bytes, self.settings.buffer_bytes)
        if size + HEADER_SIZE > most:
            raise ApiError(
                ErrorCode.MESSAGE_TOO_LARGE, f"a record of {size} bytes; {most} are allowed"
            )

    def _check_usable(self) -> None:
        self._check_not_failed()
        if not self._tasks:
            raise ApiError(ErrorCode.INVALID_REQUEST, "the producer was not started")
        if self._transactions is not None:
            self._transactions.check_may_send()

    def _check_not_failed(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def _run(self) -> None:
        """Whatever ends the sender, nobody waits for ever."""
        try:
            await self._sender.run()
        finally:
            failure = self._failure or ProducerFailed(
                ErrorCode.UNKNOWN_SERVER_ERROR, "the sender ended"
            )
            self._failure = failure
            self._accumulator.take_all()
            for delivery in list(self._undelivered):
                if not delivery.done():
                    delivery.set_exception(failure)

    async def _keep_fresh(self) -> None:
        while True:
            await asyncio.sleep(self.settings.metadata_max_age_ms / 1000)
            await self._cluster.refresh_quietly(list(self._cluster.view.topics))
