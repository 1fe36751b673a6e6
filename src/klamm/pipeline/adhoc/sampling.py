"""Which topics there are, and some records of one: the first and the last of each partition."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    ListOffsetsResultInfo,
    OffsetSpec,
    ResourceType,
)

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
class Span:
    """Offsets of one partition; `end` is not part of it. A new leader, a new epoch."""

    partition: int
    begin: int
    end: int
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Extent:
    """What a reader of committed records finds in a topic at one moment."""

    # Of the topic: one that is made again has another.
    id: str
    spans: tuple[Span, ...]
    # Records may go from the middle of it.
    is_compacted: bool = False

    @property
    def records(self) -> int:
        """Or a few less: offsets may be without a record."""
        return sum(span.end - span.begin for span in self.spans)

    def goes_on_from(self, earlier: Extent) -> bool:
        """Whether what was read then is what stands there now."""
        then = {span.partition: span for span in earlier.spans}
        now = {span.partition: span for span in self.spans}
        return (
            self.id == earlier.id
            and then.keys() == now.keys()
            and all(
                now[number].begin == span.begin
                and now[number].end >= span.end
                and now[number].epoch == span.epoch
                for number, span in then.items()
            )
        )

    def at_its_begin(self) -> Extent:
        return replace(self, spans=tuple(replace(span, end=span.begin) for span in self.spans))

    def since(self, earlier: Extent) -> list[Span]:
        """What came since then."""
        then = {span.partition: span.end for span in earlier.spans}
        spans = [replace(span, begin=then[span.partition]) for span in self.spans]
        return [span for span in spans if span.begin < span.end]


class Looker:
    """Reads without leaving a trace: no group, no commits. Several threads may ask."""

    def __init__(self, bootstrap: str, client: Settings | None = None) -> None:
        self._settings: dict[str, str | int | float | bool] = {
            **(client or {}),
            "bootstrap.servers": bootstrap,
            "log_level": 0,
        }
        self._consumer = Consumer(
            {
                **self._settings,
                "group.id": "klamm-adhoc",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                # At the end of a partition the broker would hold a fetch this long, and the next question behind it.
                "fetch.wait.max.ms": 10,
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

    def extent(self, topic: str) -> Extent | None:
        """None where the cluster does not tell."""
        # Made anew each time: librdkafka's asking for offsets never looks again for who leads a partition.
        admin = AdminClient(self._settings)
        try:
            is_compacted = _is_compacted(admin, topic)
            asked = admin.describe_topics(TopicCollection([topic]), request_timeout=ANSWER_SECONDS)
            found = asked[topic].result()
            numbers = [each.id for each in found.partitions]
            begins = _offsets(admin, topic, numbers, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
            ends = _offsets(admin, topic, numbers, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        except KafkaException:
            return None
        spans = [
            Span(number, begins[number].offset, ends[number].offset, ends[number].leader_epoch)
            for number in numbers
        ]
        return Extent(str(found.topic_id), tuple(spans), is_compacted)

    def _ends(self, topic: str, partitions: list[int], count: int) -> tuple[list[Span], list[Span]]:
        first, last = [], []
        for number in partitions:
            where = TopicPartition(topic, number)
            low, high = self._consumer.get_watermark_offsets(where, ANSWER_SECONDS)
            first.append(Span(number, low, min(low + count, high)))
            last.append(Span(number, max(low + count, high - count), high))
        return first, last

    def _read(self, topic: str, spans: list[Span]) -> Iterator[bytes | None]:
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


def _is_compacted(admin: AdminClient, topic: str) -> bool:
    asked = admin.describe_configs(
        [ConfigResource(ResourceType.TOPIC, topic)], request_timeout=ANSWER_SECONDS
    )
    (found,) = (future.result() for future in asked.values())
    return "compact" in str(found["cleanup.policy"].value)


def _offsets(
    admin: AdminClient, topic: str, numbers: list[int], edge: OffsetSpec
) -> dict[int, ListOffsetsResultInfo]:
    asked = admin.list_offsets(
        {TopicPartition(topic, number): edge for number in numbers},
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=ANSWER_SECONDS,
    )
    return {each.partition: future.result() for each, future in asked.items()}
