"""Copiers of both clients in one group: read, write and commit offsets in one transaction. Each record is copied once.

Whatever goes wrong, a copier begins anew: it takes its transactional id over and joins the group again.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as Partition

from chaos.cluster.checker.history import Poll, Send, Takeover, Transaction
from chaos.cluster.workload import confluent_writers, klamm_writers
from chaos.cluster.workload.confluent_readers import group_consumer
from chaos.cluster.workload.klamm_readers import Owned, member_settings
from chaos.cluster.workload.klamm_writers import Bytes, records_of
from chaos.cluster.workload.stage import DELIVERY_MS, Over, Stage
from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import CommittedOffset, Consumer, Producer

GROUP = "copiers"
Records = list[tuple[TopicPartition, int, bytes]]


class _Copier:
    client = ""

    def __init__(self, stage: Stage, name: str) -> None:
        self.name = name
        self._stage = stage
        self._rng = stage.random(name)
        self._run_number = 0
        self._count = 0

    @property
    def _process(self) -> str:
        return f"{self.name}.{self._run_number}"

    def note_poll(self, invoked: float, session: int, found: Records) -> None:
        self._stage.history.polls.append(
            Poll(
                process=self._process,
                session=session,
                is_committed=True,
                invoked=invoked,
                completed=self._stage.now(),
                records=found,
                group=GROUP,
            )
        )

    def begin(self, found: Records) -> Transaction:
        transaction = Transaction(
            process=self._process,
            transactional_id=self.name,
            run=self._run_number,
            invoked=self._stage.now(),
            group=GROUP,
            offsets={place: offset + 1 for place, offset, _ in found},
        )
        self._stage.history.transactions.append(transaction)
        return transaction

    def copy_of(self, transaction: Transaction, original: bytes) -> Send:
        self._count += 1
        partition = self._rng.randrange(self._stage.topics[self._stage.target])
        send = Send(
            process=self._process,
            client=self.client,
            place=TopicPartition(self._stage.target, partition),
            value=f"{self._process}.{self._count}=".encode() + original,
            invoked=self._stage.now(),
            transaction=transaction,
        )
        self._stage.history.sends.append(send)
        transaction.sends.append(send)
        return send


class KlammCopier(_Copier):
    client = klamm_writers.CLIENT

    async def run(self) -> None:
        stage = self._stage
        while not stage.is_over:
            self._run_number += 1
            with suppress(ApiError):
                takeover = Takeover(
                    transactional_id=self.name, run=self._run_number, invoked=stage.now()
                )
                stage.history.takeovers.append(takeover)
                producer = await klamm_writers.transactional_producer(stage, self.name)
                takeover.completed = stage.now()
                try:
                    consumer = Consumer(stage.bootstrap, member_settings(GROUP, "classic"))
                    async with consumer:
                        await self._live(producer, consumer)
                finally:
                    await producer.close(discard=True, timeout_ms=DELIVERY_MS)

    async def _live(
        self, producer: Producer[Bytes, Bytes], consumer: Consumer[Bytes, Bytes]
    ) -> None:
        stage = self._stage
        owned = Owned(stage, GROUP, self._process, consumer, "classic")
        await consumer.subscribe([stage.source], listener=owned)
        while True:
            await stage.readers.come_through(self.name)
            invoked = stage.now()
            found = records_of(await consumer.poll(timeout_ms=200, max_records=100))
            self.note_poll(invoked, owned.session, found)
            if not found:
                continue
            transaction = self.begin(found)
            producer.begin()
            for _, _, value in found:
                send = self.copy_of(transaction, value)
                await klamm_writers.deliver(stage, producer, send)
            offsets = {p: CommittedOffset(o) for p, o in transaction.offsets.items()}
            await producer.send_offsets(offsets, consumer.group_metadata())
            await klamm_writers.end_transaction(stage, producer, transaction, wants_commit=True)
            if not transaction.is_committed:
                # What was read is to be read again.
                return


class ConfluentCopier(_Copier):
    """Its calls run in a thread that can be left behind: librdkafka may never come back from one.

    Seen when all brokers were killed: AddOffsetsToTxn was answered, and no TxnOffsetCommit ever sent, whatever the timeout.
    """

    client = confluent_writers.CLIENT

    def run(self) -> None:
        while not self._stage.is_over:
            self._run_number += 1
            life = _Life(self, self._stage, self._run_number)
            thread = threading.Thread(
                target=self._stage.guard, args=(self.name, life.run), daemon=True
            )
            thread.start()
            while thread.is_alive() and not life.is_stuck:
                thread.join(0.1)
            if thread.is_alive():
                life.is_left_behind = True
                self._stage.stuck_clients.append(f"{self.name} in {life.step}")


class _Life:
    def __init__(self, copier: ConfluentCopier, stage: Stage, run_number: int) -> None:
        self._copier = copier
        self._stage = stage
        self._run_number = run_number
        self._since = stage.now()
        self._session = 0
        self.step = ""
        self.is_left_behind = False

    @property
    def is_stuck(self) -> bool:
        """Longer than any timeout that the client was given."""
        is_resting = self._copier.name in self._stage.readers.resting
        return not is_resting and self._stage.now() - self._since > 1.5 * DELIVERY_MS / 1000

    def _begins(self, step: str) -> None:
        if self.is_left_behind:
            raise Over
        self.step, self._since = step, self._stage.now()

    def run(self) -> None:
        consumer = group_consumer(self._stage, GROUP, "classic")
        try:
            self._live(consumer)
        except KafkaException as e:
            if not self.is_left_behind and not _is_expected(e.args[0]):
                raise
        finally:
            self._since = self._stage.now()
            consumer.close()

    def _changed(self, *_: Any) -> None:
        self._session += 1

    def _live(self, consumer: ConfluentConsumer) -> None:
        stage, copier = self._stage, self._copier
        self._begins("init_transactions")
        producer = confluent_writers.transactional_producer(stage, copier.name)
        confluent_writers.take_over(stage, producer, copier.name, self._run_number)
        changed = self._changed
        consumer.subscribe([stage.source], on_assign=changed, on_revoke=changed, on_lost=changed)
        while True:
            stage.readers.pass_through(copier.name)
            self._begins("consume")
            invoked = stage.now()
            found = confluent_writers.consume(consumer, 100, 0.2)
            copier.note_poll(invoked, self._session, found)
            if not found:
                continue
            transaction = copier.begin(found)
            producer.begin_transaction()
            failed: list[KafkaError] = []
            for _, _, value in found:
                send = copier.copy_of(transaction, value)
                confluent_writers.deliver(stage, producer, send, failed)
            self._commit(producer, consumer, transaction)
            if not transaction.is_committed:
                return

    def _commit(self, producer: Any, consumer: ConfluentConsumer, transaction: Transaction) -> None:
        offsets = [Partition(p.topic, p.partition, o) for p, o in transaction.offsets.items()]
        wants_commit = True
        self._begins("send_offsets_to_transaction")
        try:
            confluent_writers.again(
                partial(
                    producer.send_offsets_to_transaction,
                    offsets,
                    consumer.consumer_group_metadata(),
                    DELIVERY_MS / 1000,
                )
            )
        except KafkaException as e:
            if not e.args[0].txn_requires_abort():
                raise
            wants_commit = False
        self._begins("the end of the transaction")
        confluent_writers.end_transaction(self._stage, producer, transaction, wants_commit)


def _is_expected(error: KafkaError) -> bool:
    """Also that the group has gone on without this member."""
    of_groups = (
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.FENCED_INSTANCE_ID,
    )
    return confluent_writers.is_expected(error) or error.code() in of_groups
