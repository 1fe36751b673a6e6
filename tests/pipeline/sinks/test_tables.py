"""Tables: a batch that is written again by the next run counts once, and the table follows the rows' columns."""

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as f
from pyspark.sql.types import DataType

from klamm.pipeline.names import delta_path, iceberg_name
from klamm.pipeline.place import Place
from klamm.pipeline.sinks.making import make_sink
from klamm.pipeline.sinks.tables.types import would_change
from klamm.pipeline.sinks.trouble import MarkerLost, SinkFailed
from klamm.pipeline.spec import Delivery, LostMarker, TableFormat, TableSink, WriteMode

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

BOTH = pytest.mark.parametrize("format", list(TableFormat))
CLICKS = "user string, at int, page string"


class Tables:
    """Writes batches as runs do, each with a sink of its own, and reads what is there."""

    def __init__(self, spark: "SparkSession", warehouse: "Path") -> None:
        self.spark = spark
        self._place = Place(bootstrap="", checkpoint="", warehouse=str(warehouse))

    def write(self, sink: TableSink, batch: "DataFrame", batch_id: int, query: str = "q") -> bool:
        made = make_sink(self.spark, sink, self._place, Delivery.EXACTLY_ONCE)
        made.open(query)
        try:
            return made.write(batch, batch_id)
        finally:
            made.close()

    def read(self, sink: TableSink) -> "DataFrame":
        if sink.format is TableFormat.ICEBERG:
            return self.spark.table(iceberg_name(sink.table))
        path = delta_path(sink.table, self._place.warehouse)
        return self.spark.read.format("delta").load(path)

    def rows(self, sink: TableSink) -> list[tuple[object, ...]]:
        return sorted((tuple(row) for row in self.read(sink).collect()), key=str)

    def clicks(self, *rows: tuple[object, ...], columns: str = CLICKS) -> "DataFrame":
        return self.spark.createDataFrame(list(rows), columns)


@pytest.fixture
def tables(spark: "SparkSession", warehouse: "Path") -> Tables:
    return Tables(spark, warehouse)


@BOTH
def test_appended_batch_that_is_repeated_is_there_once(tables: Tables, format: TableFormat) -> None:
    sink = TableSink(table="append", format=format)
    batch = tables.clicks(("ann", 1, "/"), (None, 2, None))

    for batch_id, query in [(0, "q"), (0, "q"), (1, "q"), (0, "other")]:
        tables.write(sink, batch, batch_id, query)

    assert tables.read(sink).count() == 6


@BOTH
def test_table_tells_which_batches_it_had(tables: Tables, format: TableFormat) -> None:
    sink = TableSink(table="told", format=format)
    batch = tables.clicks(("ann", 1, "/"))

    told = [tables.write(sink, batch, batch_id) for batch_id in (0, 0, 1)]

    assert told == [True, False, True]


def test_batch_without_rows_is_remembered_as_well(tables: Tables) -> None:
    sink = TableSink(table="empty")

    assert tables.write(sink, tables.clicks(), 0)
    assert not tables.write(sink, tables.clicks(("ann", 1, "/")), 0)


def test_batch_whose_snapshots_are_gone_waits_for_a_decision(tables: Tables) -> None:
    batch = tables.clicks(("ann", 1, "/"))
    tables.write(TableSink(table="lost"), batch, 0, "another query")

    def decided(lost_marker: LostMarker) -> bool:
        return tables.write(TableSink(table="lost", lost_marker=lost_marker), batch, 7)

    with pytest.raises(MarkerLost, match=r"batch 7 may or may not be in table lake\.default\.lost"):
        decided(LostMarker.FAIL)
    assert decided(LostMarker.WRITE)
    assert not decided(LostMarker.FAIL)


def test_batch_that_is_skipped_is_the_only_one(tables: Tables) -> None:
    batch = tables.clicks(("ann", 1, "/"))
    tables.write(TableSink(table="skip"), batch, 0, "another query")
    sink = TableSink(table="skip", lost_marker=LostMarker.SKIP)

    # Each by a run of its own.
    told = [tables.write(sink, batch, batch_id) for batch_id in (7, 8, 8, 9)]

    assert told == [False, True, False, True]
    assert len(tables.rows(sink)) == 3


@BOTH
@pytest.mark.usefixtures("spilling")
def test_upsert_keeps_the_last_row_of_each_key(tables: Tables, format: TableFormat) -> None:
    sink = TableSink(table="merge", format=format, mode=WriteMode.UPSERT, key=("user",))
    few = tables.clicks(("ann", 1, "/a"), ("ann", 3, "/c"), ("bob", 5, "/"), (None, 1, "/n"))
    # Read by several tasks, and more than a sort keeps in memory.
    many = tables.spark.range(0, 3000, 1, 4).selectExpr("'dan' AS user", "INT(id) AS at", "'/'")
    first = few.union(many)
    second = tables.clicks(("bob", 6, "/new"), (None, 2, "/null"), ("cid", 1, "/"))

    for batch_id, batch in [(0, first), (1, second), (1, second)]:
        tables.write(sink, batch, batch_id)

    assert tables.rows(sink) == [
        ("ann", 3, "/c"),
        ("bob", 6, "/new"),
        ("cid", 1, "/"),
        ("dan", 2999, "/"),
        (None, 2, "/null"),
    ]


# Delta's merge takes its columns by the same way as Iceberg's, and takes its time.
@pytest.mark.parametrize(
    ("format", "mode"),
    [
        (TableFormat.ICEBERG, WriteMode.APPEND),
        (TableFormat.ICEBERG, WriteMode.UPSERT),
        (TableFormat.DELTA, WriteMode.APPEND),
    ],
)
def test_new_columns_are_added_and_missing_ones_are_null(
    tables: Tables, format: TableFormat, mode: WriteMode
) -> None:
    key = ("user",) if mode is WriteMode.UPSERT else ()
    sink = TableSink(table=f"evolve_{mode}", format=format, mode=mode, key=key)
    tables.write(sink, tables.clicks(("ann", 1, "/")), 0)

    wider = "user string, tags array<string>, page string"
    tables.write(sink, tables.clicks(("bob", ["x"], "/b"), columns=wider), 1)

    assert tables.rows(sink) == [("ann", 1, "/", None), ("bob", None, "/b", ["x"])]


@BOTH
def test_type_that_the_table_does_not_take_is_one_sentence(
    tables: Tables, format: TableFormat
) -> None:
    sink = TableSink(table="types", format=format)
    tables.write(sink, tables.clicks(("ann", 1, "/")), 0)
    wrong = tables.clicks(("bob", ["x"], "/"), columns="user string, at array<string>, page string")

    with pytest.raises(SinkFailed, match="types does not take these rows") as raised:
        tables.write(sink, wrong, 1)

    assert str(raised.value).endswith(
        "at was int and is array<string>; make at int again in a step, or write to another table"
    )


@pytest.mark.parametrize("mode", list(WriteMode))
@BOTH
def test_value_is_not_made_another_one_to_fit_the_table(
    tables: Tables, format: TableFormat, mode: WriteMode
) -> None:
    key = ("user",) if mode is WriteMode.UPSERT else ()
    sink = TableSink(table=f"casts_{mode}", format=format, mode=mode, key=key)
    tables.write(sink, tables.clicks(("ann", 1, "/")), 0)

    rows = tables.clicks(("ann", 2, "3"))
    as_text = rows.withColumn("at", f.col("at").cast("string"))
    as_number = rows.withColumn("page", f.col("page").cast("int"))
    for wrong, words in ((as_text, "at was int and is string"), (as_number, "page was string and")):
        with pytest.raises(SinkFailed, match=words):
            tables.write(sink, wrong, 1)
    tables.write(sink, tables.clicks(("bob", 2, "/"), columns=CLICKS.replace("int", "smallint")), 1)

    assert tables.rows(sink) == [("ann", 1, "/"), ("bob", 2, "/")]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("now", "column", "changes"),
    [
        *(("int", "bigint", False), ("bigint", "int", True), ("float", "double", False)),
        *(("double", "float", True), ("int", "double", False), ("bigint", "double", True)),
        *(("decimal(5,2)", "decimal(7,2)", False), ("decimal(5,2)", "decimal(5,1)", True)),
        *(("int", "decimal(12,2)", False), ("int", "decimal(5,2)", True), ("double", "int", True)),
        *(("string", "int", True), ("int", "string", True), ("boolean", "string", True)),
        *(("timestamp", "timestamp_ntz", False), ("string", "string", False)),
    ],
)
def test_type_with_room_for_every_value_is_taken(now: str, column: str, changes: bool) -> None:
    assert would_change(DataType.fromDDL(now), DataType.fromDDL(column)) is changes


def test_iceberg_partitions_by_transforms(tables: Tables) -> None:
    sink = TableSink(table="parts.clicks", partition_by=("days(at)", "bucket(4, user)"))
    columns = "user string, at timestamp"
    batch = tables.clicks(("ann", None), columns=columns).selectExpr(
        "user", "timestamp'2026-11-15 10:00:00' AS at"
    )

    tables.write(sink, batch, 0)

    partitions = tables.spark.table(f"{iceberg_name(sink.table)}.partitions")
    assert partitions.select("partition.*").columns == ["at_day", "user_bucket"]


def test_delta_partitions_by_columns_only(tables: Tables) -> None:
    by_user = TableSink(table="by_user", format=TableFormat.DELTA, partition_by=("user",))
    tables.write(by_user, tables.clicks(("ann", 1, "/")), 0)

    [[partitioning]] = (
        tables.spark.sql(
            f"DESCRIBE DETAIL delta.`{delta_path('by_user', tables._place.warehouse)}`"
        )
        .select("partitionColumns")
        .collect()
    )
    assert partitioning == ["user"]
    by_day = TableSink(table="by_day", format=TableFormat.DELTA, partition_by=("days(at)",))
    with pytest.raises(SinkFailed, match="Delta partitions by columns"):
        tables.write(by_day, tables.clicks(("ann", 1, "/")), 0)


def test_key_that_the_rows_lack_is_named(tables: Tables) -> None:
    sink = TableSink(table="no_key", mode=WriteMode.UPSERT, key=("nobody",))

    with pytest.raises(SinkFailed, match="the key nobody is not among the columns user, at, page"):
        tables.write(sink, tables.clicks(("ann", 1, "/")), 0)


def test_column_that_iceberg_keeps_for_itself_is_refused(tables: Tables) -> None:
    sink = TableSink(table="reserved")

    with pytest.raises(SinkFailed, match=r"_partition.*Iceberg keeps for itself"):
        tables.write(sink, tables.clicks((0,), columns="_partition int"), 0)
