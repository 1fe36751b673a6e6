"""What clients find after the broker was stopped, or killed, and started again on the same port."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from support.brokers import Broker, free_port, start_kafka, start_klamm
from support.patience import eventually

pytestmark = pytest.mark.compat

TOPIC = "kept"
ENDS = pytest.mark.parametrize(
    "end",
    [lambda broker: broker.stop(keep=True), Broker.kill],
    ids=["stopped", "killed"],
)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Broker]]:
    """Starts the broker, each time on the same files and port."""
    choice = os.environ.get("KLAMM_COMPAT_BOOTSTRAP")
    if choice not in (None, "kafka"):
        pytest.skip("a broker that is not ours cannot be restarted")
    port = free_port()
    started: list[Broker] = []

    def again() -> Broker:
        broker = start_kafka(home=tmp_path) if choice else start_klamm(home=tmp_path, port=port)
        started.append(broker)
        return broker

    yield again
    for broker in started:
        broker.kill()


def write(address: str, values: list[bytes]) -> None:
    """Writes and waits until all is acknowledged."""
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "log_level": 0})
    for value in values:
        producer.produce(TOPIC, value, partition=0, on_delivery=lambda e, _: errors.append(e))
    assert producer.flush(30) == 0
    assert errors == [None] * len(values)


def read(address: str, count: int) -> list[bytes | None]:
    options = {"group.id": "none", "enable.auto.commit": False, "check.crcs": True, "log_level": 0}
    consumer = Consumer({"bootstrap.servers": address, **options})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    messages: list[Message] = []
    while len(messages) < count:
        came = consumer.consume(count - len(messages), 20)
        assert came, f"only {len(messages)} of {count} messages came"
        messages += came
    low, high = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=20)
    consumer.close()
    assert (low, high) == (0, count)
    return [message.value() for message in messages]


def make_topic(address: str) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    wanted = NewTopic(TOPIC, 1, 1, config={"retention.ms": "123456789"})
    admin.create_topics([wanted])[TOPIC].result(30)
    return admin


@ENDS
def test_topics_configs_and_acknowledged_records_are_still_there(
    start: Callable[[], Broker], end: Callable[[Broker], object]
) -> None:
    broker = start()
    admin = make_topic(broker.address)
    values = [b"%d" % n for n in range(3_000)]
    write(broker.address, values)

    end(broker)
    again = start()

    assert again.address == broker.address
    assert read(again.address, 3_000) == values
    resource = ConfigResource("topic", TOPIC)
    described = admin.describe_configs([resource])[resource].result(30)
    assert described["retention.ms"].value == "123456789"


@ENDS
def test_idempotent_producer_goes_on_where_it_was(
    start: Callable[[], Broker], end: Callable[[Broker], object]
) -> None:
    broker = start()
    make_topic(broker.address)
    producer = Producer(
        {"bootstrap.servers": broker.address, "enable.idempotence": True, "log_level": 0}
    )
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error:
            failures.append(error)

    for n in range(200):
        producer.produce(TOPIC, b"%d" % n, partition=0, on_delivery=delivered)
        if n == 100:
            assert producer.flush(30) == 0
            end(broker)
            broker = start()
    assert producer.flush(60) == 0

    assert failures == []
    assert read(broker.address, 200) == [b"%d" % n for n in range(200)]


def test_deleted_topic_stays_deleted(start: Callable[[], Broker]) -> None:
    broker = start()
    admin = make_topic(broker.address)
    write(broker.address, [b"gone"])
    admin.delete_topics([TOPIC])[TOPIC].result(30)

    broker.kill()
    start()

    # The client may need a moment to find the broker again.
    listed = eventually(lambda: admin.list_topics(timeout=20), failures=KafkaException)
    assert TOPIC not in listed.topics
