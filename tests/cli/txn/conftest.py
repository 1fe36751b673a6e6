"""A transaction that is open."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer


@pytest.fixture
def transaction(broker: str, topic: str, new_name: str) -> Producer:
    """An open transaction under the id `new_name`, with a record in each partition of the topic."""
    producer = Producer({"bootstrap.servers": broker, "transactional.id": new_name})
    producer.init_transactions(30)
    producer.begin_transaction()
    for partition in (0, 1):
        producer.produce(topic, b"open", partition=partition)
    producer.flush(10)
    return producer
