"""Topics for the tests of sinks, and what a careful reader sees in a topic."""

import json
from collections import Counter

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

SECONDS = 20.0


def create(
    bootstrap: str, *names: str, partitions: int = 2, config: dict[str, str] | None = None
) -> None:
    # Gone with an event that nobody took, such a client prints so (BGQUEUE), and a test may look at what is printed.
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    wanted = [NewTopic(name, partitions, 1, config=config or {}) for name in names]
    for made in admin.create_topics(wanted).values():
        made.result(SECONDS)


def committed_values(bootstrap: str, topic: str) -> list[bytes | None]:
    return [message.value() for message in committed(bootstrap, topic)]


def committed(bootstrap: str, topic: str) -> list[Message]:
    """All that a reader with read_committed is given, up to the end of each partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.message.max.bytes": 20_000_000,
        }
    )
    try:
        partitions = consumer.list_topics(topic, SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        messages, ended = [], set()
        while len(ended) < len(partitions):
            message = consumer.poll(SECONDS)
            assert message is not None, "the reader waits: a transaction is still open"
            if message.error() is None:
                messages.append(message)
            else:
                ended.add(message.partition())
        return messages
    finally:
        consumer.close()


def count_per_user(bootstrap: str, topic: str) -> Counter[str]:
    return Counter(json.loads(value)["user"] for value in committed_values(bootstrap, topic))


def once_each(users: range) -> Counter[str]:
    return Counter({f"user-{number}": 1 for number in users})
