"""Tells the broker how far a pipeline is, so that every tool that shows a group's lag shows the pipeline's.

Spark keeps its own offsets in the checkpoint and goes on from there; what is committed here is for the eyes only. So a
commit that fails is no trouble: the next one says it all again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from klamm.pipeline.client import connection
from klamm.pipeline.place import Place
from klamm.pipeline.plan import plan_of
from klamm.pipeline.running.progress import Report
from klamm.pipeline.spec import Pipeline, TopicSource
from klamm.pipeline.spec.checks.reads import matches

CLOSE_SECONDS = 5.0

# By topic and partition: the first offset that is not processed.
Offsets: TypeAlias = Mapping[tuple[str, int], int]


class Readers:
    """Which query reads which topic, as far as the file tells."""

    def __init__(self, pipeline: Pipeline) -> None:
        plan = plan_of(pipeline)
        sources = {s.name: s for s in pipeline.sources if isinstance(s, TopicSource)}
        read = {query.name: query.sources for query in plan.queries}
        read |= {letters.name: (letters.source,) for letters in plan.dead_letters}
        self._sources = {
            query: [sources[name] for name in names if name in sources]
            for query, names in read.items()
        }

    def reads(self, query: str, topic: str) -> bool:
        return any(_covers(source, topic) for source in self._sources.get(query, ()))


def processed_offsets(report: Report, readers: Readers, ended: Collection[str] = ()) -> Offsets:
    """Per partition the least that any query has processed.

    A partition of which a query has not said yet how far it is waits, unless that query has ended: then it had nothing
    to read.
    """
    least: dict[tuple[str, int], int] = {}
    for query in report.queries:
        for each in query.partitions:
            place = (each.topic, each.partition)
            least[place] = min(each.next_offset, least.get(place, each.next_offset))
    for query in report.queries:
        if query.name in ended:
            continue
        told = {(each.topic, each.partition) for each in query.partitions}
        for place in [place for place in least if place not in told]:
            if readers.reads(query.name, place[0]):
                del least[place]
    return least


class GroupOffsets:
    """Commits offsets to a group, and hears on the way whether the cluster is there."""

    def __init__(self, group: str, place: Place, *, lost: Callable[[], None] | None = None) -> None:
        # It never subscribes: a group without members takes commits from whoever knows its name.
        self._consumer = Consumer(
            {
                # It tells error_cb what it does not print.
                **connection(place),
                "group.id": group,
                "enable.auto.commit": False,
                "error_cb": self._on_error,
                "on_commit": self._on_commit,
            }
        )
        self._lost = lost
        self._sent: Offsets = {}
        self._committed: Offsets = {}
        self._are_waiting = 0

    def commit(self, offsets: Offsets) -> None:
        """Begins to; it does not wait for the broker."""
        self._consumer.poll(0)
        if (
            not offsets
            or offsets == self._committed
            or (self._are_waiting and offsets == self._sent)
        ):
            return
        parts = [TopicPartition(topic, number, at) for (topic, number), at in offsets.items()]
        try:
            self._consumer.commit(offsets=parts, asynchronous=True)
        except KafkaException:
            return
        self._sent = dict(offsets)
        self._are_waiting += 1

    def close(self) -> None:
        """Waits a moment for what was begun."""
        deadline = time.monotonic() + CLOSE_SECONDS
        while self._are_waiting and time.monotonic() < deadline:
            self._consumer.poll(0.05)
        self._consumer.close()

    def _on_commit(self, error: KafkaError | None, parts: list[TopicPartition]) -> None:
        self._are_waiting -= 1
        if error is None:
            self._committed = {(p.topic, p.partition): p.offset for p in parts}

    def _on_error(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN and self._lost is not None:
            self._lost()


def _covers(source: TopicSource, topic: str) -> bool:
    if source.pattern is not None:
        return bool(matches(source.pattern, topic))
    return topic in source.topics
