"""Rows and the table that takes them: new columns are added to the table, columns that the rows lack are NULL."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from klamm.pipeline.failures.trouble import sentence_of
from klamm.pipeline.sinks.tables.types import would_change
from klamm.pipeline.sinks.trouble import SinkFailed
from klamm.pipeline.spec.model.sinks import TableSink

_ORDER, _RANK = "_klamm_order", "_klamm_rank"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def columns_in_ddl(rows: DataFrame) -> str:
    """The columns as CREATE TABLE wants them. All may be NULL: a stream that never brought one may bring it tomorrow."""
    return str(rows._jdf.schema().asNullable().toDDL())


def fitted(rows: DataFrame, table: str, target: str) -> DataFrame:
    """The rows with the columns of the table, which has all of theirs afterwards. `table` is a name for SQL, `target` one
    for people. Raises SinkFailed where a value would become another one."""
    spark = rows.sparkSession
    there = {each.name.lower(): each.dataType for each in spark.table(table).schema}
    if changed := [
        (each.name, there[each.name.lower()].simpleString(), each.dataType.simpleString())
        for each in rows.schema
        if each.name.lower() in there and would_change(each.dataType, there[each.name.lower()])
    ]:
        raise _refused(target, changed)
    if new := [name for name in rows.columns if name.lower() not in there]:
        added = columns_in_ddl(rows.select(*(f.col(quoted(name)) for name in new)))
        _run(rows, table, f"ALTER TABLE {table} ADD COLUMNS ({added})")
    brought = {name.lower() for name in rows.columns}
    columns = [
        f.col(quoted(field.name))
        if field.name.lower() in brought
        else f.lit(None).cast(field.dataType).alias(field.name)
        for field in spark.table(table).schema
    ]
    return rows.select(*columns)


def last_per_key(rows: DataFrame, key: Sequence[str], target: str) -> DataFrame:
    """One row per key: the last one in the batch's order.

    Rows that come straight from one partition of a topic are in the order of their offsets. Behind a shuffle (a join,
    a window) there is no order that a repetition would keep; who cares makes one row per key in SQL.
    """
    if missing := [name for name in key if name.lower() not in map(str.lower, rows.columns)]:
        raise SinkFailed(
            f"{target}: the key {', '.join(missing)} is not among the columns {', '.join(rows.columns)}"
        )
    last = Window.partitionBy(*(f.col(quoted(name)) for name in key)).orderBy(f.col(_ORDER).desc())
    ordered = rows.withColumn(_ORDER, f.monotonically_increasing_id())
    ranked = ordered.withColumn(_RANK, f.row_number().over(last))
    return ranked.where(f.col(_RANK) == 1).drop(_ORDER, _RANK)


def check_no_options(sink: TableSink) -> None:
    """An upsert is a statement, and Spark has no way to give options to it."""
    if sink.options:
        names = ", ".join(name for name, _ in sink.options)
        raise SinkFailed(f"table {sink.table}: options ({names}) are for mode: append only")


def merge_sql(table: str, key: Sequence[str]) -> str:
    """Rows of the view {rows} into the table. A key may be NULL, and is the same key then."""
    is_same = " AND ".join(f"old.{quoted(name)} <=> new.{quoted(name)}" for name in key)
    return (
        f"MERGE INTO {table} old USING {{rows}} new ON {is_same} "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def refusal(
    target: str, error: AnalysisException, *, rows: DataFrame | None = None, table: str = ""
) -> SinkFailed:
    """Which columns changed their types, if it is that; Spark tells of the first one, and not always of which table."""
    changed = [] if rows is None else _changed_types(rows, table)
    if not changed:
        return SinkFailed(f"{target} does not take these rows: {sentence_of(error)}")
    return _refused(target, changed)


def _refused(target: str, changed: Sequence[tuple[str, str, str]]) -> SinkFailed:
    name, before, _ = changed[0]
    told = ", ".join(f"{name} was {before} and is {now}" for name, before, now in changed)
    return SinkFailed(
        f"{target} does not take these rows: {told}; make {name} {before} again in a step, or write to another table"
    )


def _changed_types(rows: DataFrame, table: str) -> list[tuple[str, str, str]]:
    """Each column whose type is another one: the table's, and that of the rows."""
    try:
        columns = rows.sparkSession.table(table).schema
    except AnalysisException:
        return []
    known = {each.name.lower(): each.dataType.simpleString() for each in columns}
    now = [(each.name, each.dataType.simpleString()) for each in rows.schema]
    return [
        (name, before, kind)
        for name, kind in now
        if (before := known.get(name.lower(), kind)) != kind
    ]


def _run(rows: DataFrame, table: str, sql: str) -> None:
    try:
        rows.sparkSession.sql(sql)
    except AnalysisException as error:
        raise refusal(f"table {table}", error) from None
