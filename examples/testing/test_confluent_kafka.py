"""confluent-kafka: the service under test copies orders, and must not lose one when the leader moves."""

import pytest
from confluent_kafka import Consumer, Producer

from klamm.testing import Broker


def copy_one(bootstrap_servers: str) -> None:
    """What is tested here: one record from orders to shipped."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "shipping",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    producer = Producer({"bootstrap.servers": bootstrap_servers, "retry.backoff.ms": 10})
    consumer.subscribe(["orders"])
    message = None
    while message is None or message.error():
        message = consumer.poll(1.0)
    producer.produce("shipped", message.value())
    producer.flush()
    consumer.commit(message=message, asynchronous=False)
    consumer.close()


@pytest.mark.kafka(topics={"orders": 1, "shipped": 1})
def test_an_order_is_shipped_though_the_leader_moves(kafka_broker: Broker) -> None:
    kafka_broker.produce("orders", [{"id": 1}])
    moved = kafka_broker.faults.error("PRODUCE", "NOT_LEADER_OR_FOLLOWER", times=2)

    copy_one(kafka_broker.bootstrap_servers)

    kafka_broker.expect("shipped").within(5).equals({"id": 1})
    kafka_broker.assert_lag("shipping", 0)
    moved.assert_injected(2)
