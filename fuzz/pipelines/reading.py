"""What is in topics and tables, as a careful reader sees it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from confluent_kafka import Consumer, TopicPartition

from klamm.pipeline.names import delta_path, iceberg_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from fuzz.pipelines.drawing.sinks import ParquetPlan, TablePlan

SECONDS = 60.0


Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]


class Found(NamedTuple):
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def read_topic(bootstrap: str, topic: str) -> list[Found]:
    """All that is committed, partition by partition in the order of offsets."""
    consumer = _consumer(bootstrap, "fuzz-reader")
    try:
        partitions = consumer.list_topics(topic, SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found: dict[int, list[Found]] = {number: [] for number in partitions}
        ended: set[int] = set()
        while len(ended) < len(partitions):
            message = consumer.poll(SECONDS)
            assert message is not None, f"{topic}: a transaction is still open"
            number = message.partition()
            assert number is not None
            if message.error() is not None:
                ended.add(number)
                continue
            headers = tuple((name, raw) for name, raw in message.headers() or ())
            found[number].append(Found(number, message.key(), message.value(), headers))
        return [each for number in sorted(found) for each in found[number]]
    finally:
        consumer.close()


def read_lag(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """By partition, as every tool of Kafka computes it."""
    consumer = _consumer(bootstrap, group)
    try:
        partitions = consumer.list_topics(topic, SECONDS).topics[topic].partitions
        asked = [TopicPartition(topic, number) for number in partitions]
        ends = {each.partition: consumer.get_watermark_offsets(each, SECONDS)[1] for each in asked}
        committed = consumer.committed(asked, SECONDS)
        # What was never committed is a negative number.
        return {each.partition: ends[each.partition] - max(each.offset, 0) for each in committed}
    finally:
        consumer.close()


def _consumer(bootstrap: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )


def read_table(spark: "SparkSession", sink: "TablePlan", warehouse: str) -> list[dict[str, Any]]:
    if sink.format == "iceberg":
        name = iceberg_name(sink.table)
        return _rows(spark.table(name)) if spark.catalog.tableExists(name) else []
    path = delta_path(sink.table, warehouse)
    return _rows(spark.read.format("delta").load(path)) if Path(path).is_dir() else []


def read_parquet(spark: "SparkSession", sink: "ParquetPlan") -> list[dict[str, Any]]:
    if not any(Path(sink.folder).rglob("part-*.parquet")):
        return []
    # Of a folder's name Spark would guess a type.
    schema = ", ".join(f"{name} {kind}" for name, kind in sink.columns.items())
    return _rows(spark.read.schema(schema).parquet(sink.folder))


def _rows(rows: "DataFrame") -> list[dict[str, Any]]:
    """Without NULLs, and times as text, which does not depend on where this runs."""
    return [json.loads(row[0]) for row in rows.selectExpr("to_json(struct(*))").collect()]
