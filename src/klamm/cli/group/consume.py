"""`klamm consume -g`: read as a member of a group.

What was printed is committed, and not before: if we are killed in between, the next member prints it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from klamm.base.ids import TopicPartition
from klamm.cli.connect import explain
from klamm.cli.output import notice

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message
    from confluent_kafka import TopicPartition as ClientPartition

RECORDS_PER_CALL = 1_000


def settings(group: str, *, begin: str, uncommitted: bool) -> dict[str, str | int | float | bool]:
    return {
        "group.id": group,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        # Where the group has committed nothing yet.
        "auto.offset.reset": begin,
        "isolation.level": "read_uncommitted" if uncommitted else "read_committed",
    }


def member_batches(
    consumer: Consumer, topics: Sequence[str], *, stop_at_end: bool
) -> Iterator[list[Message]]:
    finished: set[TopicPartition] = set()
    was_assigned = False

    def assigned(consumer: Consumer, partitions: list[ClientPartition]) -> None:
        nonlocal was_assigned
        was_assigned = True
        finished.clear()

    consumer.subscribe(list(topics), on_assign=assigned)
    while True:
        first = consumer.poll(0.2)
        batch = []
        rest = [] if first is None else [first, *consumer.consume(RECORDS_PER_CALL, timeout=0)]
        for message in rest:
            place = TopicPartition(message.topic() or "", message.partition() or 0)
            error = message.error()
            if error is None:
                finished.discard(place)
                batch.append(message)
            elif error.name() == "_PARTITION_EOF":
                finished.add(place)
            else:
                raise explain("reading stopped", error)
        if batch:
            yield batch
        if stop_at_end and was_assigned and _owned(consumer) <= finished:
            return


def _owned(consumer: Consumer) -> set[TopicPartition]:
    return {TopicPartition(place.topic, place.partition) for place in consumer.assignment()}


def commit(consumer: Consumer, messages: Sequence[Message]) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka import TopicPartition as ClientPartition

    following: dict[TopicPartition, int] = {}
    for message in messages:
        place = TopicPartition(message.topic() or "", message.partition() or 0)
        following[place] = (message.offset() or 0) + 1
    offsets = [ClientPartition(*place, offset) for place, offset in following.items()]
    try:
        consumer.commit(offsets=offsets, asynchronous=False)
    except KafkaException as error:
        # The group moved on. Whoever reads these partitions now begins before what was printed here.
        notice(f"klamm: the last records were not committed: {error.args[0].str()}")
