"""Records for the tests of sources, and what a stream makes of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from klamm.pipeline.place import Place
from klamm.pipeline.spec import Pipeline, from_dict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

SECONDS = 20.0


def create(bootstrap: str, *names: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
        made.result(SECONDS)


def put(bootstrap: str, topic: str, *values: bytes | None, partition: int = 0, **more: Any) -> None:
    """One record per value; `more` is the producer's: key, headers, timestamp."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for value in values:
        producer.produce(topic, value, partition=partition, **more)
    assert producer.flush(SECONDS) == 0


def as_json(*values: object) -> list[bytes]:
    return [json.dumps(value).encode() for value in values]


def records_of(bootstrap: str, topic: str) -> list[Message]:
    """All that a careful reader sees, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        partitions = consumer.list_topics(timeout=SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found, ended = [], 0
        while ended < len(partitions):
            message = consumer.poll(SECONDS)
            assert message is not None, "the reader waits: a transaction is still open"
            if message.error() is None:
                found.append(message)
            else:
                ended += 1
        return sorted(found, key=lambda m: (m.partition(), m.offset()))
    finally:
        consumer.close()


def a_place(bootstrap: str, folder: Path) -> Place:
    return Place(
        bootstrap=bootstrap, checkpoint=str(folder / "checkpoint"), warehouse=str(folder / "lake")
    )


def a_pipeline(source: dict[str, object], **more: object) -> Pipeline:
    return from_dict({"name": "tested", "source": source, "sinks": [{"console": True}], **more})


@dataclass(frozen=True, slots=True)
class Streamed:
    rows: list[Row]
    # What the query counted, by the name of the count, summed over its batches.
    counts: dict[str, int]
    # Of fields that the schema does not name.
    names: set[str]
    batches: int
    plan: str


def stream(rows: DataFrame, checkpoint: Path | None = None) -> Streamed:
    """Takes all that is there, in batches as a pipeline's query does, and gives what came out."""
    found: list[Row] = []
    writer = rows.writeStream.trigger(availableNow=True)
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", str(checkpoint))
    query = writer.foreachBatch(lambda batch, _: found.extend(batch.collect())).start()
    query.awaitTermination()
    counts: dict[str, int] = {}
    names: set[str] = set()
    progresses = [progress for progress in query.recentProgress if progress.numInputRows]
    for progress in progresses:
        for observed, row in progress.observedMetrics.items():
            counts[observed] = counts.get(observed, 0) + row["rows"]
            if unknown := row.asDict().get("unknown"):
                counts["unknown"] = counts.get("unknown", 0) + unknown
                names |= {row["first_unknown"], row["last_unknown"]}
    plan = query._jsq.explainInternal(False)  # type: ignore[attr-defined]
    return Streamed(found, counts, names, len(progresses), plan)
