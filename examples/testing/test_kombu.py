"""kombu on its confluentkafka transport, which is how Celery can use Kafka."""

from collections.abc import Callable
from typing import Any

import pytest

from klamm.testing import Broker

kombu = pytest.importorskip("kombu")


def test_a_message_goes_there_and_back(kafka_broker: Broker) -> None:
    received: list[dict[str, int]] = []

    def take(body: dict[str, int], message: Any) -> None:
        received.append(body)
        message.ack()

    callbacks: list[Callable[..., None]] = [take]
    url = f"confluentkafka://{kafka_broker.bootstrap_servers}"
    with kombu.Connection(url) as connection:
        queue = connection.SimpleQueue("tasks")
        queue.put({"id": 1})
        queue.close()
        with connection.Consumer(kombu.Queue("tasks"), callbacks=callbacks):
            while not received:
                connection.drain_events(timeout=20)

    assert received == [{"id": 1}]
