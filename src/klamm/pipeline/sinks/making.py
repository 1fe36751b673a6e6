"""From what the file says to something that writes."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession

from klamm.pipeline.place import Place
from klamm.pipeline.sinks.console import Console
from klamm.pipeline.sinks.database.tables import DatabaseAppend, DatabaseUpsert
from klamm.pipeline.sinks.parquet import ParquetFiles
from klamm.pipeline.sinks.sink import Sink
from klamm.pipeline.sinks.tables.delta import DeltaAppend, DeltaUpsert
from klamm.pipeline.sinks.tables.iceberg import IcebergAppend, IcebergUpsert
from klamm.pipeline.sinks.topic import AtLeastOnceTopic, ExactlyOnceTopic
from klamm.pipeline.spec.model.sinks import (
    ConsoleSink,
    Delivery,
    JdbcSink,
    ParquetSink,
    TableSink,
    TopicSink,
    WriteMode,
)
from klamm.pipeline.spec.model.sinks import Sink as SinkSpec
from klamm.pipeline.spec.model.sources import TableFormat


def make_sink(spark: SparkSession, sink: SinkSpec, place: Place, delivery: Delivery) -> Sink:
    """Nothing is opened yet. Only topics ask for the delivery: every other sink gives the strongest that it can."""
    match sink:
        case TopicSink():
            is_exact = delivery is Delivery.EXACTLY_ONCE
            return ExactlyOnceTopic(sink, place) if is_exact else AtLeastOnceTopic(sink, place)
        case TableSink():
            return _TABLES[sink.format, sink.mode](spark, sink, place)
        case JdbcSink():
            is_upsert = sink.mode is WriteMode.UPSERT
            return DatabaseUpsert(spark, sink) if is_upsert else DatabaseAppend(sink)
        case ParquetSink():
            return ParquetFiles(spark, sink)
        case ConsoleSink():
            return Console(sink)


_TABLES: dict[tuple[TableFormat, WriteMode], Callable[[SparkSession, TableSink, Place], Sink]] = {
    (TableFormat.ICEBERG, WriteMode.APPEND): lambda spark, sink, place: IcebergAppend(spark, sink),
    (TableFormat.ICEBERG, WriteMode.UPSERT): lambda spark, sink, place: IcebergUpsert(sink),
    (TableFormat.DELTA, WriteMode.APPEND): lambda spark, sink, place: DeltaAppend(sink, place),
    (TableFormat.DELTA, WriteMode.UPSERT): lambda spark, sink, place: DeltaUpsert(sink, place),
}


def make_dead_letter_sink(place: Place, topic: str, label: str) -> Sink:
    """Takes rows with the columns key, value and headers."""
    # Letters without a key lie in one partition, too: they are sent again partition by partition, and keep their order.
    options = (("partitioner", "murmur2"),)
    sink = TopicSink(topic=topic, name=label, options=options)
    return ExactlyOnceTopic(sink, place, takes_records=True)
