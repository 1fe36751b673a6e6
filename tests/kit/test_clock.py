"""Time that a test moves: what waits for it finds that it has passed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from klamm.testing import Broker
from support.patience import eventually


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker) -> Broker:
    shared.reset()
    return shared


def values(broker: Broker, topic: str, **options: Any) -> list[str | None]:
    return [each.text for each in broker.records(topic, **options)]


def test_records_go_when_their_time_is_over(broker: Broker) -> None:
    broker.topic("orders", configs={"retention.ms": 3_600_000})
    broker.produce("orders", ["old"])

    broker.clock.advance(minutes=59)
    assert values(broker, "orders") == ["old"]
    broker.clock.advance(minutes=2)

    assert values(broker, "orders") == []
    assert broker.clock.now - datetime.now(UTC) > timedelta(minutes=60)


def test_compaction_leaves_the_last_of_each_key_and_tombstones_for_a_day(broker: Broker) -> None:
    broker.topic("users", configs={"cleanup.policy": "compact"})
    broker.produce("users", [("ann", "1"), ("bob", "1"), ("ann", "2"), ("bob", None)])

    assert broker.clean() == 1

    assert [(each.key_text, each.text) for each in broker.records("users")] == [
        ("ann", "2"),
        ("bob", None),
    ]
    broker.clock.advance(hours=25)
    broker.clean()
    assert [each.key_text for each in broker.records("users")] == ["ann"]


def test_a_transaction_that_is_left_open_is_aborted_when_its_time_is_over(broker: Broker) -> None:
    broker.topic("orders")
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "transactional.id": "mine",
            "transaction.timeout.ms": 600_000,
        }
    )
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("orders", b"never")
    producer.flush(20)

    broker.clock.advance(minutes=11)

    broker.produce("orders", ["behind it"])
    broker.expect("orders").within(20).equals("behind it")
    with pytest.raises(KafkaException):
        producer.commit_transaction(20)


def test_a_member_that_is_silent_loses_its_partitions(broker: Broker) -> None:
    broker.topic("orders", 2)
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": "readers",
        # It says nothing between joining and the end of its session, if nobody moves the clock.
        "heartbeat.interval.ms": 60_000,
        "session.timeout.ms": 600_000,
        "max.poll.interval.ms": 600_000,
    }
    silent, other = Consumer(settings), Consumer({**settings, "heartbeat.interval.ms": 100})
    silent.subscribe(["orders"])

    def assigned(consumer: Consumer, count: int) -> None:
        consumer.poll(0.05)
        assert len(consumer.assignment()) == count

    eventually(lambda: assigned(silent, 2))
    other.subscribe(["orders"])
    eventually(lambda: (other.poll(0.05), _joins(broker, 2)))
    broker.clock.advance(minutes=11)

    eventually(lambda: assigned(other, 2), seconds=30)
    for consumer in (silent, other):
        consumer.close()


def _joins(broker: Broker, count: int) -> None:
    """So many clients have asked to join."""
    asked = broker.transcript(api="JOIN_GROUP")
    assert len({each.connection for each in asked}) >= count


def test_clients_keep_their_connections(broker: Broker) -> None:
    broker.topic("orders")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("orders", b"one")
    producer.flush(20)

    broker.clock.advance(days=30)
    producer.produce("orders", b"two")
    producer.flush(20)

    assert len({each.connection for each in broker.transcript(api="PRODUCE")}) == 1


def test_a_reset_sets_the_clock_right_and_it_never_goes_back(broker: Broker) -> None:
    broker.clock.advance(days=3)

    broker.reset()

    assert abs(broker.clock.now - datetime.now(UTC)) < timedelta(minutes=1)
    with pytest.raises(ValueError, match="does not go back"):
        broker.clock.advance(hours=-1)


def test_time_moves_in_a_child_process_too() -> None:
    with Broker(process=True) as broker:
        broker.topic("orders", configs={"retention.ms": 1000}).produce(["old"])

        broker.clock.advance(hours=1)

        assert broker.records("orders") == []
