"""A writer that remembers what it was promised, and a reader that looks what is there."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition

from examples.cluster.scene import PATIENCE_SECONDS, Broken

# They do not wait long before they try again, and print nothing: dead brokers are what the stories are about.
_QUICK = {
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 50,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 50,
    "topic.metadata.refresh.fast.interval.ms": 20,
    "log_level": 0,
}


class Writer:
    """Writes 0, 1, 2 ... to the first partition of a topic."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        acks: str = "all",
        settings: Mapping[str, int] | None = None,
    ) -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": acks,
                # A record that is sent again is written once.
                "enable.idempotence": acks == "all",
                "linger.ms": 0,
                **_QUICK,
                **(settings or {}),
            }
        )
        self.sent = 0
        self.acknowledged: set[int] = set()
        self.refused: Counter[str] = Counter()

    def write(self, count: int) -> None:
        """Returns when each was answered."""
        for _ in range(count):
            self._send()
        if self._producer.flush(PATIENCE_SECONDS):
            raise Broken("a record was not answered")

    @contextmanager
    def writing_all_the_time(self) -> Iterator[None]:
        over = threading.Event()

        def write() -> None:
            while not over.wait(0.005):
                self._send()

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._producer.flush(PATIENCE_SECONDS)

    def _send(self) -> None:
        value = b"%d" % self.sent
        self.sent += 1
        self._producer.produce(self._topic, value, partition=0, on_delivery=self._delivered)
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.acknowledged.add(int(message.value()))
        else:
            self.refused[error.name()] += 1


def numbers_in(bootstrap: str, topic: str) -> list[int]:
    """All that a reader finds in the first partition, in its order."""
    settings = {"group.id": "reader", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings, **_QUICK})
    found: list[int] = []
    try:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        while (message := consumer.poll(PATIENCE_SECONDS)) is not None:
            error, value = message.error(), message.value()
            if error is None and value is not None:
                found.append(int(value))
            elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                return found
    finally:
        consumer.close()
    raise Broken(f"the records of {topic} do not come")


def spans(numbers: set[int]) -> str:
    """As people write them: 0-9, 12."""
    ends: list[list[int]] = []
    for number in sorted(numbers):
        if ends and ends[-1][1] == number - 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in ends) or "none"
