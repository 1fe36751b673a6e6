"""Pipelines for the tests of whole runs, their topics, and what is in those afterwards."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from klamm.pipeline.place import Place
from klamm.pipeline.running.progress import Report
from klamm.pipeline.spec import Pipeline, from_dict
from pipeline.steps.running_steps import append

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 20.0


def create(bootstrap: str, *names: str, partitions: int = 2) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
        made.result(SECONDS)


def values(bootstrap: str, topic: str) -> list[object]:
    """All that a reader with read_committed is given, as it was written, in no order."""
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
        found, ended = [], set()
        while len(ended) < len(partitions):
            message = consumer.poll(SECONDS)
            assert message is not None, "the reader waits: a transaction is still open"
            if message.error() is None:
                found.append(message.value().decode())
            else:
                ended.add(message.partition())
        return sorted(found)
    finally:
        consumer.close()


@dataclass(slots=True)
class Stage:
    """Where a test's pipeline runs: the shared session and broker, and folders of its own."""

    spark: "SparkSession"
    bootstrap: str
    warehouse: Path
    folder: Path
    reports: list[Report] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def place(self) -> Place:
        return Place(
            bootstrap=self.bootstrap,
            checkpoint=str(self.checkpoint),
            warehouse=str(self.warehouse),
        )

    def pipeline(self, name: str, **facts: object) -> Pipeline:
        """It reads numbers from the topic NAME-in, which is created, and writes to NAME-out unless it is told otherwise."""
        create(self.bootstrap, f"{name}-in", f"{name}-out")
        return numbers(name, **facts)

    def put(self, topic: str, *numbers: int) -> None:
        append(self.bootstrap, topic, *({"n": number} for number in numbers))

    def run_once(self, pipeline: Pipeline, **how: object) -> None:
        from klamm.pipeline.running.run import run

        run(pipeline, once=True, **self.how(**how))  # type: ignore[arg-type]

    def how(self, **more: object) -> dict[str, object]:
        return {
            "bootstrap": self.bootstrap,
            "checkpoint": str(self.checkpoint),
            "warehouse": str(self.warehouse),
            "spark": self.spark,
            "watch": self.reports.append,
            "notice": self.notices.append,
            **more,
        }


def numbers(name: str, **facts: object) -> Pipeline:
    whole = {
        "name": name,
        "source": {"topic": f"{name}-in", "schema": "n int"},
        "sink": {"topic": f"{name}-out"},
        **facts,
    }
    for several, one in (("sinks", "sink"), ("sources", "source")):
        if several in facts:
            del whole[one]
    return from_dict(whole)  # type: ignore[arg-type]


def as_values(*numbers: int) -> list[str]:
    """What a topic holds after these numbers were written to it."""
    return sorted(json.dumps({"n": number}, separators=(",", ":")) for number in numbers)


class FlakySink:
    """A sink that does as it is told, and keeps the numbers of the batches that it has."""

    def __init__(self, *fails: Exception, meanwhile: Callable[[], None] | None = None) -> None:
        self.batches: list[int] = []
        self.closed = 0
        self._fails = list(fails)
        self._meanwhile = meanwhile

    def open(self, query_id: str) -> None: ...

    def write(self, batch: object, batch_id: int) -> bool:
        if self._fails:
            raise self._fails.pop(0)
        if self._meanwhile is not None:
            self._meanwhile()
        self.batches.append(batch_id)
        return True

    def close(self) -> None:
        self.closed += 1
