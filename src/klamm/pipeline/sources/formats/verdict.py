"""What every format says beside the value's own columns, and how it counts."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

# Beside the value's own columns: where the record came from, and in words why its value could not be read (NULL: it could).
SOURCE_COLUMN = "_source"
CORRUPT_COLUMN = "_corrupt"
# Where `_corrupt` has become the name of a check, the words are here.
REASON_COLUMN = "_klamm_reason"

NO_UTF8 = "it is no UTF-8"
NO_FIT = "a value in it does not fit its type"


def counted(parsed: DataFrame, name: str | None, more: Sequence[Column] = ()) -> DataFrame:
    """Counts the rows, and perhaps more, under a name that comes with the query's progress."""
    # It is also a wall: Spark would move the checks to the front of the parser and parse once for each of them.
    return parsed if name is None else parsed.observe(name, f.count(f.lit(1)).alias("rows"), *more)


def first_of(*reasons: tuple[Column | None, str | Column]) -> Column:
    """The first reason whose condition is true; NULL without one. A condition that is NULL is not true."""
    found = f.lit(None).cast("string")
    for condition, words in reversed(reasons):
        if condition is not None:
            said = f.lit(words) if isinstance(words, str) else words
            found = f.when(condition, said).otherwise(found)
    return found


def nothing_wrong() -> Column:
    return f.lit(None).cast("string").alias(CORRUPT_COLUMN)


def is_no_utf8(text: Column) -> Column:
    return f.coalesce(~f.is_valid_utf8(text), f.lit(False))
