"""Rows into an Iceberg table, each batch once.

Appended: the snapshot that holds a batch names the query and the batch. Upserted: a batch that is repeated writes the
same rows over themselves.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from klamm.pipeline.names import iceberg_name
from klamm.pipeline.sinks.tables.columns import (
    check_no_options,
    columns_in_ddl,
    fitted,
    last_per_key,
    merge_sql,
    refusal,
)
from klamm.pipeline.sinks.trouble import MarkerLost, SinkFailed
from klamm.pipeline.spec.model.sinks import LostMarker, TableSink

QUERY_PROPERTY = "klamm.query-id"
BATCH_PROPERTY = "klamm.batch-id"
# What Iceberg calls its own columns. It takes rows that have such a one, and the table cannot be read afterwards.
_RESERVED = frozenset({"_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id"})


class IcebergAppend:
    """Namespace and table are made when they are missing."""

    def __init__(self, spark: SparkSession, sink: TableSink) -> None:
        self._spark = spark
        self._sink = sink
        self._table = iceberg_name(sink.table)
        self._id = ""
        self._last_batch: int | None = None
        # Whether the table has snapshots, and none of them is this query's.
        self._is_unknown = False

    def open(self, query_id: str) -> None:
        # Several sinks of one query may share a table.
        self._id = f"{query_id}.{self._sink.label}"
        if self._spark.catalog.tableExists(self._table):
            snapshots = self._spark.table(f"{self._table}.snapshots")
            self._last_batch = self._find_last_batch(snapshots)
            self._is_unknown = self._last_batch is None and not snapshots.isEmpty()

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        if self._last_batch is not None and self._last_batch >= batch_id:
            return False
        is_skipped = self._is_unknown and batch_id > 0 and self._is_skipped(batch_id)
        if is_skipped:
            # A snapshot without rows names it: the next batch is not in doubt.
            batch = batch.limit(0)
        _create_if_missing(self._table, self._sink, batch)
        try:
            writer = fitted(batch, self._table, f"table {self._table}").writeTo(self._table)
            for name, value in self._sink.options:
                writer = writer.option(name, value)
            writer = writer.option(f"snapshot-property.{QUERY_PROPERTY}", self._id)
            writer.option(f"snapshot-property.{BATCH_PROPERTY}", str(batch_id)).append()
        except AnalysisException as error:
            raise refusal(f"table {self._table}", error, rows=batch, table=self._table) from None
        self._last_batch, self._is_unknown = batch_id, False
        return not is_skipped

    def close(self) -> None:
        """The session is the runner's."""

    def _is_skipped(self, batch_id: int) -> bool:
        if self._sink.lost_marker is LostMarker.FAIL:
            raise MarkerLost(
                f"batch {batch_id} may or may not be in table {self._table} already: none of its snapshots names this "
                "query any more (were they expired while the pipeline rested?); look at the table, then set "
                "lost_marker: write (perhaps twice) or skip (perhaps never) for this sink"
            )
        return self._sink.lost_marker is LostMarker.SKIP

    def _find_last_batch(self, snapshots: DataFrame) -> int | None:
        # Read once per run: while it lasts, the checkpoint lets no other run of this query write.
        summary = f.col("summary")
        of_this_query = snapshots.where(summary[QUERY_PROPERTY] == self._id)
        found = of_this_query.agg(f.max(summary[BATCH_PROPERTY].cast("bigint"))).first()
        return None if found is None or found[0] is None else int(found[0])


class IcebergUpsert:
    """The newest row per key: in the batch, and then in the table."""

    def __init__(self, sink: TableSink) -> None:
        check_no_options(sink)
        self._sink = sink
        self._table = iceberg_name(sink.table)

    def open(self, query_id: str) -> None:
        """It keeps nothing: the table's rows are all it needs to know."""

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        _create_if_missing(self._table, self._sink, batch)
        target = f"table {self._table}"
        # Iceberg reads the rows twice, and must not find another last row of a key the second time.
        rows = last_per_key(batch, self._sink.key, target).localCheckpoint()
        try:
            merge = merge_sql(self._table, self._sink.key)
            batch.sparkSession.sql(merge, rows=fitted(rows, self._table, target))
        except AnalysisException as error:
            raise refusal(target, error, rows=batch, table=self._table) from None
        finally:
            # Otherwise it is kept until somebody collects garbage on the other side.
            rows._jdf.queryExecution().analyzed().rdd().unpersist(False)
        return True

    def close(self) -> None:
        """The session is the runner's."""


def _create_if_missing(table: str, sink: TableSink, rows: DataFrame) -> None:
    if own := [name for name in rows.columns if name.lower() in _RESERVED]:
        raise SinkFailed(
            f"table {table} cannot have the column {own[0]}, a name that Iceberg keeps for itself: give it another one "
            f"in a step (sql: SELECT *, {own[0]} AS topic{own[0]} ..., without {own[0]} itself)"
        )
    spark = rows.sparkSession
    if spark.catalog.tableExists(table):
        return
    partitions = f" PARTITIONED BY ({', '.join(sink.partition_by)})" if sink.partition_by else ""
    try:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {table} ({columns_in_ddl(rows)}) USING iceberg{partitions}"
        )
    except AnalysisException as error:
        raise refusal(f"table {table}", error) from None
