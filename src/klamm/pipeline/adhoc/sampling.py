"""Which topics there are, and some records of one: the first and the last of each partition."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

# From each end of each partition. Old and new records may have different columns.
RECORDS_PER_END = 100
# From each end of all partitions together, as long as that leaves some for each.
_RECORDS_OF_ALL = 1000
_FEWEST_PER_END = 10
ANSWER_SECONDS = 15.0
# A reader of committed records may find nothing up to the end: the last ones may belong to an open transaction.
_SILENCE_SECONDS = 2.0

Settings: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Span:
    """Offsets of one partition; `end` is not part of it."""

    partition: int
    begin: int
    end: int


class Looker:
    """Reads without leaving a trace: no group, no commits. Several threads may ask."""

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
                # At the end of a partition the broker would hold a fetch this long, and the next question behind it.
                "fetch.wait.max.ms": 10,
                "log_level": 0,
            }
        )
        self._turn = threading.Lock()

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Looker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def topics(self) -> list[str]:
        with self._turn:
            return sorted(self._consumer.list_topics(timeout=ANSWER_SECONDS).topics)

    def sample(self, topic: str, *, per_end: int = RECORDS_PER_END) -> list[bytes | None]:
        """The values of some records."""
        with self._turn:
            found = self._consumer.list_topics(topic, ANSWER_SECONDS).topics[topic]
            if found.error is not None:
                raise KafkaException(found.error)
            share = max(_FEWEST_PER_END, _RECORDS_OF_ALL // max(1, len(found.partitions)))
            first, last = self._ends(topic, sorted(found.partitions), min(per_end, share))
            values = [*self._read(topic, first), *self._read(topic, last)]
            self._consumer.unassign()
            return values

    def _ends(
        self, topic: str, partitions: list[int], count: int
    ) -> tuple[list[_Span], list[_Span]]:
        first, last = [], []
        for number in partitions:
            where = TopicPartition(topic, number)
            low, high = self._consumer.get_watermark_offsets(where, ANSWER_SECONDS)
            first.append(_Span(number, low, min(low + count, high)))
            last.append(_Span(number, max(low + count, high - count), high))
        return first, last

    def _read(self, topic: str, spans: list[_Span]) -> Iterator[bytes | None]:
        """All partitions at once; each until its end."""
        waiting = {span.partition: span.end for span in spans if span.begin < span.end}
        begins = [TopicPartition(topic, s.partition, s.begin) for s in spans if s.begin < s.end]
        self._consumer.assign(begins)
        while waiting and (message := self._consumer.poll(_SILENCE_SECONDS)) is not None:
            error = message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            partition, offset = message.partition(), message.offset()
            if partition not in waiting:
                continue
            assert offset is not None, "a record has an offset"
            end = waiting[partition]
            if error is None and offset < end:
                yield message.value()
            if error is not None or offset >= end - 1:
                del waiting[partition]
                self._consumer.pause([TopicPartition(topic, partition)])
        # A later assignment of the same partition would inherit the pause.
        self._consumer.resume(begins)
