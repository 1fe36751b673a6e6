"""Writers with klamm's own client: one that is idempotent, one with transactions that is sometimes robbed of its id."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from chaos.cluster.checker.history import Outcome, Poll, Send, Takeover, Transaction
from chaos.cluster.workload.stage import DELIVERY_MS, REQUEST_MS, TRANSACTION_MS, Stage
from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import Consumer, ConsumerRecord, ConsumerSettings, Producer, ProducerSettings
from klamm.client.backoff import Backoff
from klamm.client.errors import ProducerFailed, TransactionFailed

CLIENT = "klamm"
BACKOFF = Backoff(initial_ms=20, max_ms=200)
Bytes = bytes | None


class IdempotentWriter:
    def __init__(self, stage: Stage, name: str, topics: tuple[str, ...]) -> None:
        self.name = name
        self._stage = stage
        self._rng = stage.random(name)
        self._places = stage.places(*topics)
        self._lives = 0
        self._count = 0

    async def run(self) -> None:
        while not self._stage.is_over:
            self._lives += 1
            settings = ProducerSettings(
                client_id=self.name,
                linger_ms=self._rng.choice((0, 2, 10)),
                batch_bytes=self._rng.choice((200, 16_384)),
                delivery_timeout_ms=DELIVERY_MS,
                request_timeout_ms=REQUEST_MS,
                max_block_ms=DELIVERY_MS,
                retry_backoff=BACKOFF,
            )
            with suppress(ApiError):
                async with Producer(self._stage.bootstrap, settings) as producer:
                    await self._live(producer, f"{self.name}.{self._lives}")

    async def _live(self, producer: Producer[Bytes, Bytes], process: str) -> None:
        while True:
            if self._stage.writers.is_closed:
                await producer.flush()
            await self._stage.writers.come_through(self.name)
            for _ in range(self._rng.randint(1, 8)):
                self._count += 1
                send = Send(
                    process=process,
                    client=CLIENT,
                    place=self._rng.choice(self._places),
                    value=f"{process}.{self._count}".encode(),
                    invoked=self._stage.now(),
                )
                self._stage.history.sends.append(send)
                await deliver(self._stage, producer, send)
            await asyncio.sleep(self._rng.uniform(0.03, 0.15))


async def deliver(stage: Stage, producer: Producer[Bytes, Bytes], send: Send) -> None:
    """Into the producer's buffer; raises if that cannot be."""

    def delivered(done: asyncio.Future[Any]) -> None:
        send.completed = stage.now()
        if not done.cancelled() and done.exception() is None:
            send.outcome, send.offset = Outcome.OK, done.result().offset

    delivery = await producer.send(send.place.topic, send.value, partition=send.place.partition)
    delivery.add_done_callback(delivered)


class TransactionalWriter:
    """As the other client's, and now and then another one takes its id over in the middle of a transaction."""

    def __init__(self, stage: Stage, name: str, topics: tuple[str, ...]) -> None:
        self.name = name
        self._stage = stage
        self._rng = stage.random(name)
        self._places = stage.places(*topics)
        self._run_number = 0
        self._count = 0

    async def run(self) -> None:
        stage = self._stage
        while not stage.is_over:
            with suppress(ApiError):
                producer = await self._next()
                try:
                    while True:
                        producer = await self._live(producer)
                finally:
                    await producer.close(discard=True, timeout_ms=DELIVERY_MS)

    async def _next(self) -> Producer[Bytes, Bytes]:
        """A producer that has just taken the id over."""
        self._run_number += 1
        takeover = Takeover(
            transactional_id=self.name, run=self._run_number, invoked=self._stage.now()
        )
        self._stage.history.takeovers.append(takeover)
        producer = await transactional_producer(self._stage, self.name)
        takeover.completed = self._stage.now()
        return producer

    async def _live(self, producer: Producer[Bytes, Bytes]) -> Producer[Bytes, Bytes]:
        """Until it is robbed of its id; gives the new owner."""
        stage, rng = self._stage, self._rng
        process = f"{self.name}.{self._run_number}"
        async with committed_reader(stage, self._places) as reader:
            while True:
                await stage.writers.come_through(self.name)
                run = self._run_number
                transaction = Transaction(
                    process=process, transactional_id=self.name, run=run, invoked=stage.now()
                )
                stage.history.transactions.append(transaction)
                producer.begin()
                thief = None
                try:
                    for _ in range(rng.randint(1, 4)):
                        await self._send_some(producer, transaction)
                        await self._poll(reader, transaction)
                        if thief is None and rng.random() < 0.02:
                            thief = await self._next()
                    await end_transaction(
                        stage, producer, transaction, wants_commit=rng.random() < 0.8
                    )
                except ApiError:
                    if thief is None:
                        raise
                if thief is not None:
                    await producer.close(discard=True, timeout_ms=REQUEST_MS)
                    return thief

    async def _send_some(self, producer: Producer[Bytes, Bytes], transaction: Transaction) -> None:
        for _ in range(self._rng.randint(1, 4)):
            self._count += 1
            send = Send(
                process=transaction.process,
                client=CLIENT,
                place=self._rng.choice(self._places),
                value=f"{transaction.process}.{self._count}".encode(),
                invoked=self._stage.now(),
                transaction=transaction,
            )
            self._stage.history.sends.append(send)
            transaction.sends.append(send)
            await deliver(self._stage, producer, send)

    async def _poll(self, reader: Consumer[Bytes, Bytes], transaction: Transaction) -> None:
        invoked = self._stage.now()
        found = records_of(await reader.poll(timeout_ms=self._rng.randint(0, 50), max_records=50))
        poll = Poll(
            process=f"{transaction.process} reader",
            session=1,
            is_committed=True,
            invoked=invoked,
            completed=self._stage.now(),
            records=found,
            transaction=transaction,
        )
        transaction.polls.append(poll)
        self._stage.history.polls.append(poll)


async def transactional_producer(stage: Stage, transactional_id: str) -> Producer[Bytes, Bytes]:
    settings = ProducerSettings(
        client_id=transactional_id,
        transactional_id=transactional_id,
        transaction_timeout_ms=TRANSACTION_MS,
        delivery_timeout_ms=TRANSACTION_MS,
        request_timeout_ms=REQUEST_MS,
        max_block_ms=DELIVERY_MS,
        linger_ms=2,
        retry_backoff=BACKOFF,
    )
    producer = Producer(stage.bootstrap, settings)
    await producer.start()
    return producer


async def end_transaction(
    stage: Stage, producer: Producer[Bytes, Bytes], transaction: Transaction, *, wants_commit: bool
) -> None:
    """Raises if nobody knows how it ended, or the producer can only be closed."""
    if wants_commit:
        transaction.ending = stage.now()
        try:
            await producer.commit()
        except ProducerFailed:
            raise
        except TransactionFailed:
            pass
        else:
            transaction.outcome, transaction.completed = Outcome.OK, stage.now()
            return
    await producer.abort()
    transaction.is_commit = False
    transaction.ending = min(transaction.ending, stage.now())
    transaction.outcome, transaction.completed = Outcome.OK, stage.now()


def committed_reader(stage: Stage, places: list[TopicPartition]) -> Consumer[Bytes, Bytes]:
    consumer = Consumer(stage.bootstrap, reader_settings(is_committed=True))
    consumer.assign(places)
    return consumer


def reader_settings(*, is_committed: bool, **more: Any) -> ConsumerSettings:
    return ConsumerSettings(
        client_id="chaos-reader",
        auto_commit=False,
        auto_offset_reset="earliest",
        read_committed=is_committed,
        fetch_max_wait_ms=100,
        request_timeout_ms=REQUEST_MS,
        api_timeout_ms=DELIVERY_MS,
        retry_backoff=BACKOFF,
        auto_create_topics=False,
        **more,
    )


def records_of(
    found: list[ConsumerRecord[Bytes, Bytes]],
) -> list[tuple[TopicPartition, int, bytes]]:
    return [(each.topic_partition, each.offset, each.value or b"") for each in found]
