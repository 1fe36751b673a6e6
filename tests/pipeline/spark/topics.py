"""Topics of clicks for the tests, and what a careful reader sees in a topic."""

import json
from collections import Counter

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

SECONDS = 20.0


def create(bootstrap: str, *names: str, partitions: int = 2) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
        made.result(SECONDS)


def fill(bootstrap: str, topic: str, users: range) -> None:
    """One click of each user."""
    clicks = ({"user": f"user-{number}", "page": "/home", "ms": number} for number in users)
    put(bootstrap, topic, *(json.dumps(click).encode() for click in clicks))


def put(bootstrap: str, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    for number, value in enumerate(values):
        producer.produce(topic, value, str(number))
    assert producer.flush(SECONDS) == 0


def committed_values(bootstrap: str, topic: str) -> list[bytes]:
    """All that a reader with read_committed is given, up to the end of each partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        partitions = consumer.list_topics(topic, SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        values, ended = [], set()
        while len(ended) < len(partitions):
            message = consumer.poll(SECONDS)
            assert message is not None, "the reader waits: a transaction is still open"
            if message.error() is None:
                values.append(message.value())
            else:
                ended.add(message.partition())
        return values
    finally:
        consumer.close()


def count_per_user(bootstrap: str, topic: str) -> Counter[str]:
    return Counter(json.loads(value)["user"] for value in committed_values(bootstrap, topic))


def once_each(users: range) -> Counter[str]:
    return Counter({f"user-{number}": 1 for number in users})
