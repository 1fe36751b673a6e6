"""Takes a period out of the archive, in the form in which back.yaml reads it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SQL = """
SELECT key,
       value,
       array(named_struct('key', 'first.partition', 'value', CAST(CAST(first_partition AS string) AS binary)),
             named_struct('key', 'first.offset', 'value', CAST(CAST(first_offset AS string) AS binary))) AS headers
FROM lake.default.archive_payments
WHERE at >= TIMESTAMP '{begin}' AND at < TIMESTAMP '{end}'
ORDER BY first_partition, first_offset
"""


def take_out(spark: SparkSession, folder: str, *, begin: datetime, end: datetime) -> None:
    rows = spark.sql(_SQL.format(begin=begin.isoformat(), end=end.isoformat()))
    rows.coalesce(1).write.parquet(folder)
