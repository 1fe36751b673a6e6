"""Parts of a batch that end with a row which says so.

When the JVM's half of a task breaks off among its rows (a shuffle block is gone, the task is killed because another one
failed, the executor dies), it closes the connection to Python, and PySpark takes that for the end of the rows. What is
committed then would be a piece of a part under the marker of a whole one, and nobody would write the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from klamm.pipeline.sinks.trouble import SinkUnreachable

if TYPE_CHECKING:
    import pyarrow

_IS_END = "is_end"
_PART = "part"
_POSITION = "position"
# Above every position of a row.
_END = 2**63 - 1


def in_parts(records: DataFrame, count: int) -> DataFrame:
    """Records (key, value, perhaps headers), each in its part; every part, also an empty one, with an end row behind it.

    By content, so that a repetition makes the same parts, however the rows came. Records of one key stay together, in
    the order in which the batch has them: the shuffle brings blocks as they come, and Spark's sort, once it spills,
    mixes rows that are equal to it. So no two are: each has its position, the task that read it and its number there.
    The connector gives the ranges of one partition to tasks in the order of their offsets.
    """
    part = f.pmod(f.hash(f.coalesce(f.col("key"), f.col("value"))), f.lit(count))
    position = f.monotonically_increasing_id()
    rows = records.select("*", part.alias(_PART), position.alias(_POSITION))
    nothing = [f.lit(None).cast(field.dataType).alias(field.name) for field in records.schema]
    numbers = records.sparkSession.range(0, count, 1, numPartitions=1)
    number = f.col("id").cast("int").alias(_PART)
    ends = numbers.select(*nothing, number, f.lit(_END).alias(_POSITION))
    placed = rows.unionByName(ends).repartitionById(count, _PART)
    is_end = (f.col(_POSITION) == _END).alias(_IS_END)
    return placed.sortWithinPartitions(_POSITION).select(*records.columns, is_end)


def up_to_the_end(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """The rows without the end row. Raises SinkUnreachable if they break off before it."""
    is_whole = False
    for batch in batches:
        if batch.num_rows and batch.column(batch.num_columns - 1)[-1].as_py():
            is_whole = True
            batch = batch.slice(0, batch.num_rows - 1)
        yield batch
    if not is_whole:
        raise SinkUnreachable("the rows of a task broke off before their end")
