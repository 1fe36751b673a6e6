"""The records that the jobs read: clicks as JSON, the same ones for every broker."""

import json
from random import Random

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from bench.target import Refused, Target, new_topic_name, until_it_works

PARTITIONS = 4
RECORD_BYTES = 200
SCHEMA = "user string, page string, ms int, at timestamp, agent string"
# What the filter lets through: every second one.
SLOW_MS = 500
SECONDS = 120.0

_DIFFERENT = 50_000
_HOSTS = ("search", "cart", "account", "articles", "offers")


def address_of(target: Target) -> str:
    host, port = target.address
    return f"{host}:{port}"


def fill(target: Target, topic: str, count: int) -> None:
    """A new topic with so many clicks, evenly over its partitions."""
    until_it_works(lambda: target.create_topics([topic], partitions=PARTITIONS))
    producer = Producer(
        {
            "bootstrap.servers": address_of(target),
            "linger.ms": 20,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    values = _values()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, values[number % _DIFFERENT], partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    if left := producer.flush(SECONDS):
        raise OSError(f"{target.name} took only {count - left} of {count} records")


def wake_coordinators(target: Target) -> None:
    """A broker makes the topics of groups and transactions when they are first asked for; jobs find them there."""
    name = new_topic_name()
    common = {"bootstrap.servers": address_of(target), "log_level": 2}
    Producer({**common, "transactional.id": name}).init_transactions(SECONDS)
    group = Consumer({**common, "group.id": name})
    try:
        until_it_works(lambda: _ask(group))
    finally:
        group.close()


def _ask(group: Consumer) -> None:
    try:
        group.committed([TopicPartition("bench", 0)], SECONDS)
    except KafkaException as error:
        raise Refused(error.args[0].str()) from error


def matching(count: int) -> int:
    """How many of them the filter lets through."""
    kept = [int(json.loads(value)["ms"]) < SLOW_MS for value in _values()]
    whole, rest = divmod(count, _DIFFERENT)
    return whole * sum(kept) + sum(kept[:rest])


def _values() -> list[bytes]:
    # Seeded: whoever reads must have the same work.
    rng = Random(1)
    return [_value(rng) for _ in range(_DIFFERENT)]


def _value(rng: Random) -> bytes:
    click = {
        "user": f"user-{rng.randrange(1_000_000)}",
        "page": f"/{rng.choice(_HOSTS)}/{rng.randrange(10_000)}",
        "ms": rng.randrange(2 * SLOW_MS),
        "at": f"2026-11-{rng.randrange(10, 30)}T{rng.randrange(10, 24)}:{rng.randrange(10, 60)}:00Z",
        "agent": "",
    }
    room = RECORD_BYTES - len(json.dumps(click))
    return json.dumps(click | {"agent": rng.randbytes(room).hex()[:room]}).encode()
