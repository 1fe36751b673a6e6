"""What was built takes the place of what was there: in one commit of the table, or by renaming a folder.

The commit also says which batch of which query it ends with, as the sink itself would: the next batch is the query's next.
It may be done twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from klamm.pipeline.names import delta_path, iceberg_name
from klamm.pipeline.place import Place
from klamm.pipeline.refresh.planning import Rebuilt
from klamm.pipeline.sinks.tables.columns import quoted
from klamm.pipeline.sinks.tables.iceberg import BATCH_PROPERTY, QUERY_PROPERTY
from klamm.pipeline.sinks.trouble import SinkFailed
from klamm.pipeline.spec import ParquetSink, TableFormat, TableSink

_SNAPSHOT_PROPERTY = "spark.sql.iceberg.snapshot-property."


@dataclass(frozen=True, slots=True)
class Mark:
    """The last batch that the result holds."""

    query_id: str
    batch: int

    def of_sink(self, label: str) -> str:
        return f"{self.query_id}.{label}"


def swap(spark: SparkSession, place: Place, rebuilt: Rebuilt, mark: Mark, *, aside: str) -> None:
    """`aside` is what the name of an old Parquet folder gets behind it; tables keep their own history."""
    sink, beside = rebuilt.sink, rebuilt.beside
    if isinstance(sink, ParquetSink):
        assert isinstance(beside, ParquetSink)
        _swap_folders(spark, sink.parquet, beside.parquet, aside)
        return
    assert isinstance(beside, TableSink)
    if sink.format is TableFormat.ICEBERG:
        _swap_iceberg(spark, sink, beside, mark)
    else:
        _swap_delta(spark, place, sink, beside, mark)


def discard(spark: SparkSession, place: Place, rebuilt: Rebuilt) -> None:
    """What was built, whole or not."""
    beside = rebuilt.beside
    if isinstance(beside, ParquetSink):
        _remove(spark, beside.parquet)
    elif beside.format is TableFormat.DELTA:
        _remove(spark, delta_path(beside.table, place.warehouse))
    elif spark.catalog.tableExists(iceberg_name(beside.table)):
        spark.sql(f"DROP TABLE {iceberg_name(beside.table)} PURGE")


def _swap_iceberg(spark: SparkSession, sink: TableSink, beside: TableSink, mark: Mark) -> None:
    # The properties are the session's, and no other write may have them.
    own = spark.newSession()
    own.conf.set(f"{_SNAPSHOT_PROPERTY}{QUERY_PROPERTY}", mark.of_sink(sink.label))
    own.conf.set(f"{_SNAPSHOT_PROPERTY}{BATCH_PROPERTY}", str(mark.batch))
    partitions = f" PARTITIONED BY ({', '.join(sink.partition_by)})" if sink.partition_by else ""
    own.sql(
        f"CREATE OR REPLACE TABLE {iceberg_name(sink.table)} USING iceberg{partitions} "
        f"AS SELECT * FROM {iceberg_name(beside.table)}"
    )


def _swap_delta(
    spark: SparkSession, place: Place, sink: TableSink, beside: TableSink, mark: Mark
) -> None:
    built = spark.table(f"delta.{quoted(delta_path(beside.table, place.warehouse))}")
    writer = built.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    if sink.partition_by:
        writer = writer.partitionBy(*sink.partition_by)
    writer = writer.option("txnAppId", mark.of_sink(sink.label)).option("txnVersion", mark.batch)
    writer.save(delta_path(sink.table, place.warehouse))


def _swap_folders(spark: SparkSession, there: str, built: str, aside: str) -> None:
    """Between two renames there is no folder for a moment."""
    system, path = _file_system(spark, there)
    if not system.exists(path(built)):
        return
    if system.exists(path(there)):
        _rename(system, path(there), path(f"{there.rstrip('/')}{aside}"))
    _rename(system, path(built), path(there))


def _rename(system: Any, source: Any, target: Any) -> None:
    if not system.rename(source, target):
        raise SinkFailed(f"{source} could not be renamed to {target}")


def _remove(spark: SparkSession, folder: str) -> None:
    system, path = _file_system(spark, folder)
    system.delete(path(folder), True)


def _file_system(spark: SparkSession, folder: str) -> tuple[Any, Any]:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    return path(folder).getFileSystem(configuration), path
