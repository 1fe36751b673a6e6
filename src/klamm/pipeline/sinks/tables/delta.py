"""Rows into a Delta table, each batch once.

Appended: Delta itself remembers the last batch of each query in its log. Upserted: a batch that is repeated writes the
same rows over themselves.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.names import delta_path
from klamm.pipeline.place import Place
from klamm.pipeline.sinks.tables.columns import (
    check_no_options,
    fitted,
    last_per_key,
    merge_sql,
    quoted,
    refusal,
)
from klamm.pipeline.sinks.trouble import SinkFailed
from klamm.pipeline.spec.model.sinks import TableSink


class DeltaAppend:
    """The table is made when it is missing."""

    def __init__(self, sink: TableSink, place: Place) -> None:
        _check_partitions(sink)
        self._sink = sink
        self._path = delta_path(sink.table, place.warehouse)
        self._id = ""
        self._is_first = True

    def open(self, query_id: str) -> None:
        # Several sinks of one query may share a table.
        self._id = f"{query_id}.{self._sink.label}"
        self._is_first = True

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        # Only the first batch of a run can be a repetition, and Delta passes over it without a word.
        was_first, self._is_first = self._is_first, False
        before = self._version(batch.sparkSession) if was_first else None
        writer = batch.write.format("delta").mode("append").option("mergeSchema", "true")
        if self._sink.partition_by:
            writer = writer.partitionBy(*self._sink.partition_by)
        writer = writer.options(**dict(self._sink.options))
        try:
            writer.option("txnAppId", self._id).option("txnVersion", batch_id).save(self._path)
        except AnalysisException as error:
            target, table = f"table {self._sink.table}", f"delta.{quoted(self._path)}"
            raise refusal(target, error, rows=batch, table=table) from None
        return not was_first or self._version(batch.sparkSession) != before

    def close(self) -> None:
        """The session is the runner's."""

    def _version(self, spark: SparkSession) -> int | None:
        try:
            last = spark.sql(f"DESCRIBE HISTORY delta.{quoted(self._path)} LIMIT 1").first()
        except AnalysisException:
            # There is no table yet.
            return None
        return None if last is None else int(last["version"])


class DeltaUpsert:
    """The newest row per key: in the batch, and then in the table."""

    def __init__(self, sink: TableSink, place: Place) -> None:
        _check_partitions(sink)
        check_no_options(sink)
        self._sink = sink
        self._path = delta_path(sink.table, place.warehouse)

    def open(self, query_id: str) -> None:
        """It keeps nothing: the table's rows are all it needs to know."""

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        target, table = f"table {self._sink.table}", f"delta.{quoted(self._path)}"
        rows = last_per_key(batch, self._sink.key, target)
        try:
            # An append of nothing makes the table, and finds it there the next time.
            empty = batch.limit(0).write.format("delta").mode("ignore")
            empty.partitionBy(*self._sink.partition_by).save(self._path)
            batch.sparkSession.sql(
                merge_sql(table, self._sink.key), rows=fitted(rows, table, target)
            )
        except AnalysisException as error:
            raise refusal(target, error, rows=batch, table=table) from None
        return True

    def close(self) -> None:
        """The session is the runner's."""


def _check_partitions(sink: TableSink) -> None:
    if computed := [each for each in sink.partition_by if "(" in each]:
        raise SinkFailed(
            f"table {sink.table}: Delta partitions by columns, not by {', '.join(computed)}; "
            "compute that column in a step, or use format: iceberg"
        )
