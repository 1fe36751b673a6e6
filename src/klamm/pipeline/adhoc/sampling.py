"""Which topics there are, and some records of one: the first and the last of each partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

# From each end of each partition. Old and new records may have different columns.
RECORDS_PER_END = 100
ANSWER_SECONDS = 15.0
# A reader of committed records may find nothing up to the end: the last ones may belong to an open transaction.
_SILENCE_SECONDS = 2.0

Settings: TypeAlias = Mapping[str, str]


class Looker:
    """Reads without leaving a trace: no group, no commits."""

    def __init__(self, bootstrap: str, client: Settings | None = None) -> None:
        self._consumer = Consumer(
            {
                **(client or {}),
                "bootstrap.servers": bootstrap,
                "group.id": "klamm-adhoc",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Looker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def topics(self) -> list[str]:
        return sorted(self._consumer.list_topics(timeout=ANSWER_SECONDS).topics)

    def sample(self, topic: str, *, per_end: int = RECORDS_PER_END) -> list[bytes | None]:
        """The values of some records."""
        found = self._consumer.list_topics(topic, ANSWER_SECONDS).topics[topic]
        if found.error is not None:
            raise KafkaException(found.error)
        return [
            value
            for number in sorted(found.partitions)
            for value in self._both_ends(TopicPartition(topic, number), per_end)
        ]

    def _both_ends(self, partition: TopicPartition, count: int) -> Iterator[bytes | None]:
        low, high = self._consumer.get_watermark_offsets(partition, ANSWER_SECONDS)
        middle = max(low + count, high - count)
        yield from self._read(partition, low, min(low + count, high))
        yield from self._read(partition, middle, high)

    def _read(self, partition: TopicPartition, begin: int, end: int) -> Iterator[bytes | None]:
        if begin >= end:
            return
        self._consumer.assign([TopicPartition(partition.topic, partition.partition, begin)])
        while True:
            message = self._consumer.poll(_SILENCE_SECONDS)
            if message is None:
                return
            if (error := message.error()) is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    return
                raise KafkaException(error)
            offset = message.offset()
            assert offset is not None, "a record has an offset"
            if offset >= end:
                return
            yield message.value()
            if offset == end - 1:
                return
