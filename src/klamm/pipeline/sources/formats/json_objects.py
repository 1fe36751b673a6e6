"""JSON: a value is one object of the schema, from its first byte to its last."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, BooleanType, StringType, StructField, StructType

from klamm.pipeline.sources.formats.fitting import widened
from klamm.pipeline.sources.formats.texts import ROW, TEXT, Parsed, has_own_times
from klamm.pipeline.sources.formats.verdict import CORRUPT_COLUMN, NO_FIT

NO_OBJECT = "it is no JSON object"
HALF_A_CHARACTER = "an escape in it is half a character"

# The same as long as the process lives: with new names Spark would compile the same plan anew.
_KEY, _MARK = (f"klamm{secrets.token_hex(8)}" for _ in range(2))
# JSON has no such quotes; a user whose records have them may set the option.
_SINGLE_QUOTES = "allowSingleQuotes"
# A backslash that is escaped itself, and two escapes that together are a character.
_WHOLE_ESCAPES = r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF_ESCAPE = r"\\u[dD][89a-fA-F]"


def json_objects(text: Column, columns: StructType, options: Mapping[str, str]) -> Parsed:
    # Spark's parser stops at the end of the first object, and inside another one the text could close that and go on. So
    # it is put into a list, with a mark behind it, under names that nobody knows before.
    key, mark = _KEY, _MARK
    wide = widened(columns, times=not has_own_times(options))
    assert isinstance(wide, StructType)
    item = StructType([*wide.fields, StructField(mark, BooleanType())])
    schema = StructType(
        [StructField(key, ArrayType(item)), StructField(CORRUPT_COLUMN, StringType())]
    )
    wrapped = f.concat(f.lit(f'{{"{key}":['), text, f.lit(f',{{"{mark}":true}}]}}'))
    given = dict(options)
    if not any(name.lower() == _SINGLE_QUOTES.lower() for name in given):
        given[_SINGLE_QUOTES] = "false"
    items = f.col(ROW).getField(key)
    value = f.get(items, f.lit(0))
    is_one = (
        (f.size(items) == 2)
        & f.coalesce(f.get(items, f.lit(1)).getField(mark), f.lit(False))
        & value.isNotNull()
    )
    complaint = f.col(ROW).getField(CORRUPT_COLUMN)
    return Parsed(
        # With options, Spark does not leave out the columns that nobody reads: they must be right, too.
        row=f.from_json(wrapped, schema, given),
        value_of=value.getField,
        wide=wide,
        problems=(
            (~f.coalesce(is_one, f.lit(False)), NO_OBJECT),
            (complaint.isNotNull(), NO_FIT),
            (_has_half_a_character(f.col(TEXT)), HALF_A_CHARACTER),
        ),
    )


def _has_half_a_character(text: Column) -> Column:
    """Spark would make a question mark of it."""
    left = f.regexp_replace(text, _WHOLE_ESCAPES, " ")
    return text.contains("\\u") & left.rlike(_HALF_ESCAPE)
