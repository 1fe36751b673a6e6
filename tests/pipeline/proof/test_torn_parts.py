"""A task whose rows break off commits nothing: to Python a broken connection looks like the end of the rows."""

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

import pyarrow
from chaos.pipeline import outputs
from pyspark.errors import PySparkException
from pyspark.sql import functions as f

from klamm.pipeline.sinks.ends import in_parts, up_to_the_end
from klamm.pipeline.sinks.parts import REPORT, PartWriter
from klamm.pipeline.sinks.trouble import SinkUnreachable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# More than the buffers between the JVM and Python hold, in many batches.
COUNT = 4_000
VALUE = '{"id": %d, "padding": "' + "x" * 500 + '"}'


def records(spark: "SparkSession") -> "DataFrame":
    value = f.format_string(VALUE, "id").cast("binary")
    headers = f.lit(None).cast("array<struct<key:string,value:binary>>")
    ids = spark.range(COUNT)
    return ids.select(
        f.lit(None).cast("binary").alias("key"), value.alias("value"), headers.alias("headers")
    )


def test_part_that_broke_off_is_not_committed_and_the_next_attempt_writes_it(
    spark: "SparkSession", bootstrap: str
) -> None:
    outputs.create_topics(bootstrap, "torn")
    writer = PartWriter(
        bootstrap=bootstrap, topic="torn", prefix="torn.1", batch_id=0, may_be_first=True
    )
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 50)
    parts = in_parts(records(spark), 1)
    is_last = f.col("value") == f.lit(VALUE % (COUNT - 1)).cast("binary")
    broken = f.when(is_last, f.raise_error(f.lit("broken"))).otherwise(f.col("value"))

    with pytest.raises(PySparkException, match="broken"):
        parts.withColumn("value", broken.cast("binary")).mapInArrow(writer, REPORT).collect()
    assert outputs.rows_of(bootstrap, "torn") == []

    reports = parts.mapInArrow(writer, REPORT).collect()
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert [report["is_new"] for report in reports] == [True]
    assert sorted(row["id"] for row in outputs.rows_of(bootstrap, "torn")) == list(range(COUNT))


def test_every_part_ends_with_its_end_row(spark: "SparkSession") -> None:
    rows = in_parts(records(spark).limit(3), 8).withColumn("part", f.spark_partition_id()).collect()

    ends = [row["part"] for row in rows if row["is_end"]]
    assert sorted(ends) == list(range(8))
    assert all(
        rows[index]["is_end"] or rows[index + 1]["part"] == rows[index]["part"]
        for index in range(len(rows))
    )
    assert sum(not row["is_end"] for row in rows) == 3


def test_rows_are_given_on_without_the_end_row() -> None:
    batches = [a_batch([b"a", b"b"]), a_batch([b"c", None], ends=True)]

    values = [batch.column(0).to_pylist() for batch in up_to_the_end(batches)]

    assert values == [[b"a", b"b"], [b"c"]]


def test_rows_without_an_end_are_refused() -> None:
    with pytest.raises(SinkUnreachable, match="broke off"):
        list(up_to_the_end([a_batch([b"a", b"b"])]))


def a_batch(values: list[bytes | None], *, ends: bool = False) -> pyarrow.RecordBatch:
    flags = [False] * (len(values) - 1) + [ends]
    return pyarrow.RecordBatch.from_pydict({"value": values, "is_end": flags})
