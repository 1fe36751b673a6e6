"""Exactly once, as clients do it: librdkafka, Kafka's own Java client, and the tools that look after transactions."""

import json
import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from compat.conftest import MakeTopic
from support.kafka_jars import java_tool, run_java

pytestmark = pytest.mark.compat

SECONDS = 30


@pytest.fixture
def name() -> str:
    return f"tx-{uuid4().hex[:12]}"


@pytest.fixture
def new_producer(bootstrap: str, name: str) -> Callable[..., Producer]:
    def make(**settings: object) -> Producer:
        wanted = {"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 0}
        return Producer({**wanted, **{k.replace("_", "."): v for k, v in settings.items()}})

    return make


@pytest.fixture
def producer(new_producer: Callable[..., Producer]) -> Producer:
    producer = new_producer()
    producer.init_transactions(SECONDS)
    return producer


@pytest.fixture
def new_consumer(bootstrap: str, name: str) -> Iterator[Callable[..., Consumer]]:
    made: list[Consumer] = []

    def make(**settings: object) -> Consumer:
        wanted = {
            "bootstrap.servers": bootstrap,
            "group.id": f"group-{name}",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
        made.append(Consumer({**wanted, **{k.replace("_", "."): v for k, v in settings.items()}}))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


Values = Callable[..., list[bytes]]


@pytest.fixture
def committed(new_consumer: Callable[..., Consumer]) -> Values:
    """What is committed in a topic's partitions, up to their ends."""

    def read(topic: str, partitions: int = 1) -> list[bytes]:
        consumer = new_consumer(group_id=f"reader-{uuid4().hex}")
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        values: list[bytes] = []
        ends = 0
        while ends < partitions:
            message = consumer.poll(SECONDS)
            assert message is not None
            if message.error() is None:
                values.append(message.value())
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                ends += 1
        return sorted(values)

    return read


def test_librdkafka_commits_and_aborts(
    producer: Producer, make_topic: MakeTopic, committed: Values
) -> None:
    topic = make_topic(partitions=3)
    for round_ in range(6):
        producer.begin_transaction()
        for index in range(3):
            producer.produce(topic, b"%d-%d" % (round_, index), partition=index)
        if round_ % 2:
            producer.flush()
            producer.abort_transaction(SECONDS)
        else:
            producer.commit_transaction(SECONDS)

    assert committed(topic, 3) == [b"%d-%d" % (n, index) for n in (0, 2, 4) for index in range(3)]


def test_librdkafka_fences_the_producer_before(
    producer: Producer, new_producer: Callable[..., Producer], topic: str, committed: Values
) -> None:
    producer.begin_transaction()
    producer.produce(topic, b"zombie")
    producer.flush()

    successor = new_producer()
    successor.init_transactions(SECONDS)
    successor.begin_transaction()
    successor.produce(topic, b"successor")
    successor.commit_transaction(SECONDS)

    with pytest.raises(KafkaException) as caught:
        producer.commit_transaction(SECONDS)
    assert caught.value.args[0].fatal()
    assert committed(topic) == [b"successor"]


def test_librdkafka_consumes_transforms_and_produces_exactly_once(
    bootstrap: str,
    producer: Producer,
    new_consumer: Callable[..., Consumer],
    make_topic: MakeTopic,
    committed: Values,
) -> None:
    source, sink = make_topic(), make_topic()
    plain = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for n in range(50):
        plain.produce(source, b"%02d" % n)
    plain.flush()
    consumer = new_consumer()
    consumer.subscribe([source])

    done = rounds = 0
    while done < 50:
        messages: list[Message] = [
            each for each in consumer.consume(10, SECONDS) if each.error() is None
        ]
        if not messages:
            continue
        rounds += 1
        producer.begin_transaction()
        for message in messages:
            producer.produce(sink, message.value())
        position = [TopicPartition(source, 0, messages[-1].offset() + 1)]
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), SECONDS)
        if rounds % 3 == 2:
            # Nothing of it happened: the same messages come again.
            producer.abort_transaction(SECONDS)
            consumer.seek(TopicPartition(source, 0, messages[0].offset()))
        else:
            producer.commit_transaction(SECONDS)
            done = messages[-1].offset() + 1

    assert committed(sink) == [b"%02d" % n for n in range(50)]
    assert consumer.committed([TopicPartition(source, 0)], SECONDS)[0].offset == 50


def test_java_copies_a_topic_exactly_once(
    bootstrap: str, name: str, make_topic: MakeTopic, committed: Values
) -> None:
    """Kafka's own TransactionalMessageCopier, which aborts now and then and reads again."""
    source, sink = make_topic(), make_topic()
    plain = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for n in range(300):
        plain.produce(source, b"%03d" % n)
    plain.flush()

    output = java_tool(
        "TransactionalMessageCopier",
        *("--broker-list", bootstrap),
        *("--input-topic", source),
        *("--input-partition", "0"),
        *("--output-topic", sink),
        *("--transactional-id", name),
        *("--consumer-group", f"copier-{name}"),
        *("--transaction-size", "20"),
        *("--max-messages", "300"),
        "--enable-random-aborts",
    )

    last = json.loads(output.strip().splitlines()[-1])
    assert (last["remaining"], last["consumed"]) == (0, 300)
    assert committed(sink) == [b"%03d" % n for n in range(300)]


def test_kafkas_tool_lists_describes_and_ends_transactions(
    bootstrap: str, producer: Producer, name: str, topic: str
) -> None:
    def tool(*args: str) -> str:
        return run_java(
            "org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", bootstrap, *args
        )

    producer.begin_transaction()
    producer.produce(topic, b"hangs")
    producer.flush()

    listed = tool("list")
    described = tool("describe", "--transactional-id", name)
    producers = tool("describe-producers", "--topic", topic, "--partition", "0")
    hanging = tool(
        "find-hanging", "--broker-id", _broker_id(bootstrap), "--max-transaction-timeout", "0"
    )
    aborted = tool("abort", "--topic", topic, "--partition", "0", "--start-offset", "0")

    (row,) = (line for line in listed.splitlines() if name in line)
    assert row.split()[-1] == "Ongoing"
    assert re.search(rf"{name}\s+\d+\s+0\s+Ongoing\s+60000\s+\S+\s+\d+\s+{topic}-0", described)
    assert re.search(r"^\d+\s+0\s+-1\s+0\s+\d+\s+0\s*$", producers, re.MULTILINE), producers
    assert topic not in hanging
    assert "Exception" not in aborted
    after = tool("describe-producers", "--topic", topic, "--partition", "0")
    tool("forceTerminateTransaction", "--transactionalId", name)
    terminated = tool("describe", "--transactional-id", name)
    assert re.search(r"^\d+\s+0\s+\d+\s+0\s+\d+\s+None\s*$", after, re.MULTILINE), after
    assert re.search(rf"{name}\s+\d+\s+2\s+Empty", terminated), terminated


def _broker_id(bootstrap: str) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    return str(next(iter(admin.list_topics(timeout=SECONDS).brokers)))
