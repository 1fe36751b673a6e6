"""A copy that must be exact although the broker is killed at every step of a transaction, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.brokers import Broker, free_port, start_klamm

pytestmark = pytest.mark.compat

TOTAL = 80
SECONDS = 10
# So many polls in a row, of a second each, may bring nothing.
PATIENCE = 60
# librdkafka 2.16 forgets a broker that it has lost, all but the coordinator of a group that it asks for ever after.
PATIENT = {"reconnect.backoff.max.ms": 100, "metadata.recovery.strategy": "none"}
# Where in a transaction the broker is killed, round after round.
MOMENTS = ("begun", "written", "offsets sent", "committed", "none")


class House:
    def __init__(self) -> None:
        # Not one of those that connections get: a client that looks for its broker there may find itself.
        self.port = free_port()
        self.broker: Broker = start_klamm(port=self.port)
        self.kills = 0

    def kill(self) -> None:
        self.kills += 1
        self.broker.kill()
        self.broker = start_klamm(home=self.broker.home, port=self.port)


@pytest.fixture
def house() -> Iterator[House]:
    house = House()
    yield house
    house.broker.stop()


def test_every_record_is_copied_once(house: House) -> None:
    address = house.broker.address
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for made in admin.create_topics([NewTopic("source", 1), NewTopic("sink", 2)]).values():
        made.result(SECONDS)
    plain = Producer({"bootstrap.servers": address, "log_level": 0})
    for n in range(TOTAL):
        plain.produce("source", b"%03d" % n)
    plain.flush()

    copy(address, house.kill)

    assert house.kills >= len(MOMENTS) - 1
    assert committed(address, "sink", 2) == [b"%03d" % n for n in range(TOTAL)]


def copy(address: str, kill: Callable[[], None]) -> None:
    """A loop as the documentation of Kafka has it: whatever goes wrong, begin again where the group stands."""
    source = TopicPartition("source", 0)
    consumer = reader(address, "copier")
    rounds = done = idle = 0
    producer: Producer | None = None
    while done < TOTAL:
        try:
            if producer is None:
                producer = writer(address)
                producer.init_transactions(SECONDS)
                done = max(0, consumer.committed([source], SECONDS)[0].offset)
            # Anew in each round: what librdkafka holds of an older leader's records it throws away, and does not fetch again.
            consumer.assign([TopicPartition("source", 0, done)])
            messages = [each for each in consumer.consume(10, 1) if each.error() is None]
            idle = 0 if messages else idle + 1
            assert idle <= PATIENCE, "the consumer does not fetch any more"
            if messages:
                rounds += 1
                one_round(producer, consumer, messages, MOMENTS[rounds % len(MOMENTS)], kill)
                done = messages[-1].offset() + 1
        except KafkaException:
            with suppress(KafkaException):
                producer and producer.abort_transaction(1)
            producer = None
    consumer.close()


def one_round(
    producer: Producer,
    consumer: Consumer,
    messages: list[object],
    moment: str,
    kill: Callable[[], None],
) -> None:
    def reach(now: str) -> None:
        if now == moment:
            kill()

    producer.begin_transaction()
    reach("begun")
    for message in messages:
        producer.produce("sink", message.value(), partition=message.offset() % 2)  # type: ignore[attr-defined]
    producer.flush(SECONDS)
    reach("written")
    position = [TopicPartition("source", 0, messages[-1].offset() + 1)]  # type: ignore[attr-defined]
    producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), SECONDS)
    reach("offsets sent")
    producer.commit_transaction(SECONDS)
    reach("committed")


def writer(address: str) -> Producer:
    return Producer(
        {"bootstrap.servers": address, "transactional.id": "copier", **PATIENT, "log_level": 0}
    )


def reader(address: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            **PATIENT,
            "log_level": 0,
        }
    )


def committed(address: str, topic: str, partitions: int) -> list[bytes]:
    consumer = reader(address, "check")
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    values: list[bytes] = []
    ends = 0
    while ends < partitions:
        message = consumer.poll(SECONDS)
        assert message is not None
        if message.error() is None:
            values.append(message.value())
        elif message.error().code() == KafkaError._PARTITION_EOF:
            ends += 1
    consumer.close()
    return sorted(values)
