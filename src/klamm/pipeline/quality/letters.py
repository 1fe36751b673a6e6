"""Dead letters: a bad record as it came, with headers that say why it is here and where it was.

Key and value are the raw ones, so that the letter can be sent again; the record's own headers come first.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from klamm.pipeline.quality.policy import Policy
from klamm.pipeline.sources.formats.verdict import CORRUPT_COLUMN, REASON_COLUMN, SOURCE_COLUMN
from klamm.pipeline.sources.origin import origin_headers
from klamm.pipeline.spec import Expectation, Otherwise, Pipeline, Source

DEAD_LETTERS = "dead_letters"
_HEADERS = "array<struct<key:string,value:binary>>"


def letters(
    rows: DataFrame, pipeline: Pipeline, source: Source, policy: Policy, *, is_counted: bool
) -> DataFrame:
    """The rows whose verdict (in `_corrupt`) is a dead letter's, as key, value and headers."""
    kept = policy.names(Otherwise.DEAD_LETTER)
    bad = rows.where(f.col(CORRUPT_COLUMN).isin(kept))
    record = f.col(SOURCE_COLUMN)
    facts = {
        "klamm.pipeline": f.lit(pipeline.name),
        "klamm.check": f.col(CORRUPT_COLUMN),
        "klamm.reason": _reason(source, policy),
        **origin_headers(source, record),
    }
    added = f.array(*(_header(name, value) for name, value in facts.items()))
    own = f.coalesce(record.getField("headers"), f.array().cast(_HEADERS))
    found = bad.select(
        record.getField("key").alias("key"),
        record.getField("value").alias("value"),
        f.concat(own, added.cast(_HEADERS)).alias("headers"),
    )
    return found.observe(DEAD_LETTERS, f.count(f.lit(1)).alias("rows")) if is_counted else found


def malformed_reason(source: Source) -> Column:
    format = getattr(source, "format", "")
    schema = getattr(source, "schema", None)
    words = f"cannot be decoded as {format}" + (f" with the schema {schema}" if schema else "")
    return f.concat(f.lit(f"{words}: "), f.col(REASON_COLUMN))


def expectation_reason(expectation: Expectation) -> str:
    return f"{expectation.check} is not true"


def _reason(source: Source, policy: Policy) -> Column:
    reason = malformed_reason(source)
    for each in policy.expectations:
        is_it = f.col(CORRUPT_COLUMN) == each.name
        reason = f.when(is_it, f.lit(expectation_reason(each))).otherwise(reason)
    return reason


def _header(name: str, value: Column) -> Column:
    return f.struct(f.lit(name).alias("key"), value.cast("binary").alias("value"))
