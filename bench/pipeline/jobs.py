"""The jobs: what people do with Spark and topics. Each gives the number of records that it read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamWriter

from bench.pipeline import clicks
from klamm.pipeline.place import Place as PipelinePlace
from klamm.pipeline.running.queries import start
from klamm.pipeline.spec import Pipeline, from_dict


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job runs: a broker, the topic that it reads, the one that it may write, and an empty folder."""

    bootstrap: str
    source: str
    sink: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    about: str
    run: Callable[[SparkSession, Place], int]
    writes_topic: bool = False


def count_topic(spark: SparkSession, place: Place) -> int:
    return spark.read.format("kafka").options(**_source(place)).load().count()


def topic_to_parquet(spark: SparkSession, place: Place) -> int:
    rows = _stream(spark, place).selectExpr("key", "value", "partition", "offset", "timestamp")
    return _finish(
        rows.writeStream.format("parquet").option("path", str(place.folder / "files")), place
    )


def topic_to_topic(spark: SparkSession, place: Place) -> int:
    click = f.from_json(f.col("value").cast("string"), clicks.SCHEMA).alias("click")
    rows = _stream(spark, place).select(click).select("click.*").where(f"ms < {clicks.SLOW_MS}")
    records = rows.select(f.col("user").alias("key"), f.to_json(f.struct("*")).alias("value"))
    writer = records.writeStream.format("kafka").option("kafka.bootstrap.servers", place.bootstrap)
    return _finish(writer.option("topic", place.sink), place)


def topic_to_topic_exactly_once(spark: SparkSession, place: Place) -> int:
    """The job above as a pipeline of klamm's."""
    folder = str(place.folder)
    there = PipelinePlace(bootstrap=place.bootstrap, checkpoint=folder, warehouse=folder)
    [running] = start(spark, _pipeline(place), there, once=True)
    running.wait()
    return sum(progress.numInputRows for progress in running.query.recentProgress)


ALL = (
    Job("count", "topic -> count, one batch", count_topic),
    Job("parquet", "stream, topic -> Parquet", topic_to_parquet),
    Job("topic", "stream, topic -> JSON, filter -> topic, Spark's sink", topic_to_topic, True),
    Job("exactly", "the same, exactly once, klamm's sink", topic_to_topic_exactly_once, True),
)


def _pipeline(place: Place) -> Pipeline:
    return from_dict(
        {
            "name": "bench",
            "source": {"topic": place.source, "format": "json", "schema": clicks.SCHEMA},
            "steps": [{"sql": f"SELECT * FROM input WHERE ms < {clicks.SLOW_MS}"}],
            "sink": {"topic": place.sink, "key": "user", "delivery": "exactly_once", "writers": 2},
        }
    )


def _source(place: Place) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": place.bootstrap,
        "subscribe": place.source,
        "startingOffsets": "earliest",
    }


def _stream(spark: SparkSession, place: Place) -> DataFrame:
    return spark.readStream.format("kafka").options(**_source(place)).load()


def _finish(writer: DataStreamWriter, place: Place) -> int:
    """Takes all that is there."""
    writer = writer.option("checkpointLocation", str(place.folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return sum(progress.numInputRows for progress in query.recentProgress)
