"""Writers with confluent-kafka: one that is idempotent, one with transactions that also reads."""

from __future__ import annotations

from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Partition

from chaos.cluster.checker.history import Outcome, Poll, Send, Takeover, Transaction
from chaos.cluster.workload.stage import DELIVERY_MS, REQUEST_MS, TRANSACTION_MS, Stage

CLIENT = "confluent"
# They try again soon, and do not tell of every refused connection.
COMMON: dict[str, Any] = {
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 200,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "socket.timeout.ms": REQUEST_MS,
    "socket.connection.setup.timeout.ms": 2000,
    "topic.metadata.refresh.fast.interval.ms": 50,
    "allow.auto.create.topics": False,
    "log_level": 0,
}


class IdempotentWriter:
    """Some records at a time to any partition, without waiting for answers."""

    def __init__(self, stage: Stage, name: str, topics: tuple[str, ...]) -> None:
        self.name = name
        self._stage = stage
        self._rng = stage.random(name)
        self._places = stage.places(*topics)
        self._lives = 0
        self._count = 0

    def run(self) -> None:
        while not self._stage.is_over:
            self._lives += 1
            self._live(f"{self.name}.{self._lives}")

    def _live(self, process: str) -> None:
        failed: list[KafkaError] = []
        producer = Producer(
            {
                **COMMON,
                "bootstrap.servers": self._stage.bootstrap,
                "error_cb": failed.append,
                "enable.idempotence": True,
                "linger.ms": self._rng.choice((0, 2, 10)),
                "batch.num.messages": self._rng.choice((1, 5, 1000)),
                "message.timeout.ms": DELIVERY_MS,
                "request.timeout.ms": REQUEST_MS,
            }
        )
        while not any(error.fatal() for error in failed):
            if self._stage.writers.is_closed:
                producer.flush()
                self._stage.writers.pass_through(self.name)
            for _ in range(self._rng.randint(1, 8)):
                self._send(producer, process, failed)
            producer.poll(self._rng.uniform(0.03, 0.15))

    def _send(self, producer: Producer, process: str, failed: list[KafkaError]) -> None:
        self._count += 1
        send = Send(
            process=process,
            client=CLIENT,
            place=self._rng.choice(self._places),
            value=f"{process}.{self._count}".encode(),
            invoked=self._stage.now(),
        )
        self._stage.history.sends.append(send)
        deliver(self._stage, producer, send, failed)


def deliver(stage: Stage, producer: Producer, send: Send, failed: list[KafkaError]) -> None:
    def delivered(error: KafkaError | None, message: Any) -> None:
        send.completed = stage.now()
        if error is None:
            # Of a record that it had sent twice it knows that it is there, not always where.
            offset = message.offset()
            send.outcome, send.offset = Outcome.OK, -1 if offset is None else offset
        else:
            # It may have reached the log all the same.
            failed.append(error)

    try:
        producer.produce(
            send.place.topic, send.value, partition=send.place.partition, on_delivery=delivered
        )
    except BufferError:
        send.outcome = Outcome.FAILED
    except KafkaException as e:
        # The producer has failed for good.
        send.outcome = Outcome.FAILED
        failed.append(e.args[0])


class TransactionalWriter:
    """Some records to several partitions and some polls in a transaction; one in five is aborted."""

    def __init__(self, stage: Stage, name: str, topics: tuple[str, ...]) -> None:
        self.name = name
        self._stage = stage
        self._rng = stage.random(name)
        self._places = stage.places(*topics)
        self._run_number = 0
        self._count = 0

    def run(self) -> None:
        while not self._stage.is_over:
            self._run_number += 1
            process = f"{self.name}.{self._run_number}"
            reader = committed_reader(self._stage, self._places)
            try:
                self._live(process, reader)
            except KafkaException as e:
                if not is_expected(e.args[0]):
                    raise
            finally:
                reader.close()

    def _live(self, process: str, reader: Consumer) -> None:
        stage = self._stage
        producer = transactional_producer(stage, self.name)
        take_over(stage, producer, self.name, self._run_number)
        while True:
            stage.writers.pass_through(self.name)
            transaction = Transaction(
                process=process,
                transactional_id=self.name,
                run=self._run_number,
                invoked=stage.now(),
            )
            stage.history.transactions.append(transaction)
            producer.begin_transaction()
            failed: list[KafkaError] = []
            for _ in range(self._rng.randint(1, 4)):
                for _ in range(self._rng.randint(1, 4)):
                    self._send(producer, transaction, failed)
                self._poll(reader, transaction)
            wants_commit = self._rng.random() < 0.8
            end_transaction(stage, producer, transaction, wants_commit)

    def _send(self, producer: Producer, transaction: Transaction, failed: list[KafkaError]) -> None:
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
        deliver(self._stage, producer, send, failed)

    def _poll(self, reader: Consumer, transaction: Transaction) -> None:
        invoked = self._stage.now()
        poll = Poll(
            process=f"{transaction.process} reader",
            session=1,
            is_committed=True,
            invoked=invoked,
            records=consume(reader, 50, self._rng.uniform(0, 0.05)),
            completed=self._stage.now(),
            transaction=transaction,
        )
        transaction.polls.append(poll)
        self._stage.history.polls.append(poll)


def transactional_producer(stage: Stage, transactional_id: str) -> Producer:
    return Producer(
        {
            **COMMON,
            "bootstrap.servers": stage.bootstrap,
            "transactional.id": transactional_id,
            # Without it a fatal error comes out of whatever call is next, as something else.
            "error_cb": lambda _: None,
            "transaction.timeout.ms": TRANSACTION_MS,
            "message.timeout.ms": TRANSACTION_MS,
            "request.timeout.ms": REQUEST_MS,
            "linger.ms": 2,
        }
    )


def take_over(stage: Stage, producer: Producer, transactional_id: str, run: int) -> None:
    takeover = Takeover(transactional_id=transactional_id, run=run, invoked=stage.now())
    stage.history.takeovers.append(takeover)
    again(partial(producer.init_transactions, DELIVERY_MS / 1000))
    takeover.completed = stage.now()


def end_transaction(
    stage: Stage, producer: Producer, transaction: Transaction, wants_commit: bool
) -> None:
    """Raises if nobody knows how it ended, or the producer can only be closed."""
    if wants_commit:
        transaction.ending = stage.now()
        try:
            again(partial(producer.commit_transaction, DELIVERY_MS / 1000))
        except KafkaException as e:
            if not e.args[0].txn_requires_abort():
                raise
        else:
            transaction.outcome, transaction.completed = Outcome.OK, stage.now()
            return
    again(partial(producer.abort_transaction, DELIVERY_MS / 1000))
    transaction.is_commit = False
    transaction.ending = min(transaction.ending, stage.now())
    transaction.outcome, transaction.completed = Outcome.OK, stage.now()


def again(step: Any) -> None:
    """As the documentation of confluent-kafka says: what can be tried again is."""
    while True:
        try:
            step()
        except KafkaException as e:
            if not e.args[0].retriable():
                raise
        else:
            return


def is_expected(error: KafkaError) -> bool:
    """What a transactional producer may meet when brokers die: it is closed, and another one takes over."""
    return bool(error.fatal() or error.retriable() or error.txn_requires_abort()) or (
        error.code() in (KafkaError._TIMED_OUT, KafkaError._STATE, KafkaError._CONFLICT)
    )


def committed_reader(stage: Stage, places: list[Any]) -> Consumer:
    reader = Consumer(
        {
            **COMMON,
            "bootstrap.servers": stage.bootstrap,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 50,
        }
    )
    reader.assign([Partition(place.topic, place.partition, 0) for place in places])
    return reader


def consume(reader: Consumer, most: int, seconds: float) -> list[tuple[Any, int, bytes]]:
    from klamm.base.ids import TopicPartition

    found = []
    for message in reader.consume(most, seconds):
        error = message.error()
        if error is None:
            place = TopicPartition(message.topic(), message.partition())
            found.append((place, message.offset(), message.value()))
        elif error.fatal():
            raise KafkaException(error)
    return found
