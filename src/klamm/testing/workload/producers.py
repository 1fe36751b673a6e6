"""Producers: idempotent ones, and transactional ones that commit, abort, take too long and come again."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from random import Random

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import CommittedOffset, GroupMetadata, Producer, ProducerSettings
from klamm.client.errors import ProducerFailed, TransactionFailed
from klamm.protocol.records.batch import Codec
from klamm.testing.history import Outcome, Sent, Transaction
from klamm.testing.workload.stage import PATIENCE_MS, Stage

_CODECS = (Codec.NONE, Codec.NONE, Codec.GZIP, Codec.LZ4)


class Writer:
    """Writes one record after the other, some before the last is acknowledged."""

    def __init__(self, stage: Stage, name: str) -> None:
        self._stage = stage
        self._name = name
        self._rng = stage.simulation.random(name)

    async def run(self) -> None:
        stage, rng = self._stage, self._rng
        while not stage.is_over:
            settings = ProducerSettings(
                client_id=self._name,
                delivery_timeout_ms=PATIENCE_MS,
                max_block_ms=PATIENCE_MS,
                request_timeout_ms=rng.choice((5_000, 30_000)),
                linger_ms=rng.choice((0, 5, 100)),
                batch_bytes=rng.choice((200, 2_000, 16_384)),
                compression=rng.choice(_CODECS),
                idempotence=True,
            )
            try:
                async with Producer(
                    stage.bootstrap, settings, environment=stage.enters(self._name)
                ) as producer:
                    await self._write(producer)
            except ApiError:
                await stage.breathe(1)

    async def _write(self, producer: Producer[bytes | None, bytes | None]) -> None:
        stage, rng = self._stage, self._rng
        for _ in range(rng.randint(5, 80)):
            if stage.is_over:
                return
            place = stage.any_place(rng, lambda _: True)
            if rng.random() < 0.15:
                await self._burst(producer, place)
            sent = stage.new_record(rng, self._name, place)
            delivery = await _send(stage, producer, sent)
            if rng.random() < 0.5:
                await asyncio.wait([delivery])
            await stage.breathe(rng.expovariate(2))

    async def _burst(
        self, producer: Producer[bytes | None, bytes | None], place: TopicPartition
    ) -> None:
        """As many as may be on their way at once, and some more."""
        for _ in range(self._rng.randint(5, 8)):
            await _send(self._stage, producer, self._stage.new_record(self._rng, self._name, place))


async def _send(
    stage: Stage, producer: Producer[bytes | None, bytes | None], sent: Sent
) -> asyncio.Future[object]:
    try:
        delivery = await producer.send(
            sent.place.topic, sent.value, key=sent.key, partition=sent.place.partition
        )
    except ApiError:
        # It never left the client.
        sent.outcome, sent.ended = Outcome.NOT_DONE, stage.now()
        raise
    delivery.add_done_callback(partial(stage.hears, sent))
    return delivery  # type: ignore[return-value]


class Transactor:
    """Owns a transactional id, and loses it to its own next run now and then."""

    def __init__(self, stage: Stage, name: str) -> None:
        self._stage = stage
        self._name = name
        self._rng: Random = stage.simulation.random(name)
        self._runs = 0
        self._counter = 0

    async def run(self) -> None:
        stage, rng = self._stage, self._rng
        while not stage.is_over:
            self._runs += 1
            machine = f"{self._name}.{self._runs}"
            environment = stage.enters(machine)
            settings = ProducerSettings(
                client_id=machine,
                transactional_id=self._name,
                transaction_timeout_ms=rng.choice(stage.transaction_ms),
                delivery_timeout_ms=PATIENCE_MS,
                max_block_ms=PATIENCE_MS,
                linger_ms=rng.choice((0, 20)),
                batch_bytes=rng.choice((200, 16_384)),
            )
            producer: Producer[bytes | None, bytes | None] = Producer(
                stage.bootstrap, settings, environment=environment
            )
            life = stage.runs(machine, self._live(producer, self._runs))
            # Sometimes the next run begins while this one is not dead but slow, or is killed in the middle of it.
            lifetime = rng.expovariate(1 / 60)
            await asyncio.wait([life], timeout=lifetime)
            if not life.done() and rng.random() < 0.5:
                stage.simulation.machine(machine).kill()
            await stage.breathe(0)

    async def _live(self, producer: Producer[bytes | None, bytes | None], run: int) -> None:
        stage, rng = self._stage, self._rng
        try:
            began = stage.now()
            await producer.start()
            stage.history.initialized[self._name, run] = began, stage.now()
            while not stage.is_over and run >= self._runs - 1:
                await self._transaction(producer, run)
                await stage.breathe(rng.expovariate(1))
        except ApiError:
            pass
        finally:
            with suppress(ApiError):
                await producer.close(timeout_ms=5_000, discard=True)

    async def _transaction(self, producer: Producer[bytes | None, bytes | None], run: int) -> None:
        stage, rng = self._stage, self._rng
        each = Transaction(self._name, run, stage.now())
        stage.history.transactions.append(each)
        try:
            producer.begin()
            await self._fill(producer, each)
            if rng.random() < 0.05:
                # Longer than some are allowed to take.
                await stage.breathe(rng.choice((5, 30, 90)))
            each.is_commit = rng.random() < 0.75
            each.ending_began = stage.now()
            await (producer.commit() if each.is_commit else producer.abort())
            each.outcome = Outcome.DONE
        except ProducerFailed:
            raise
        except TransactionFailed:
            each.is_commit = False
            each.ending_began = stage.now()
            await producer.abort()
            each.outcome = Outcome.DONE
        finally:
            each.ended = stage.now()

    async def _fill(
        self, producer: Producer[bytes | None, bytes | None], each: Transaction
    ) -> None:
        stage, rng = self._stage, self._rng
        for _ in range(rng.randint(0, 6)):
            place = stage.any_place(rng, lambda name: name != "passing")
            sent = stage.new_record(rng, self._name, place, each)
            await _send(stage, producer, sent)
            await stage.breathe(rng.expovariate(20))
        if rng.random() < 0.5:
            self._counter += 1
            each.group = f"copies-of-{self._name}"
            each.group_offsets = {TopicPartition("plain", 0): self._counter}
            offsets = {place: CommittedOffset(at) for place, at in each.group_offsets.items()}
            await producer.send_offsets(offsets, GroupMetadata(each.group))
