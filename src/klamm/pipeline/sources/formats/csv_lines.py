"""CSV: a value is one line with a value for each column.

Spark's parser takes quotes that stand where they cannot stand for part of the text, and doubled ones, too, unless
`escape` says that they are doubled. It also takes `1d` and `0x1p3` for numbers, as Java does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as f
from pyspark.sql.types import DataType, DoubleType, FloatType, StringType, StructField, StructType

from klamm.pipeline.sources.formats.fitting import widened
from klamm.pipeline.sources.formats.texts import ROW, TEXT, Parsed, has_own_times
from klamm.pipeline.sources.formats.verdict import CORRUPT_COLUMN

NO_LINE = "its columns are not those of the schema, or a value in it does not fit its type"
NO_QUOTES = "a quote or the end of a line stands in the middle of a value (escape under options says how quotes are escaped)"

# With these the user has a dialect of which only Spark knows what is right.
_OWN_DIALECT = {
    *("comment", "linesep", "chartoescapequoteescaping", "unescapedquotehandling"),
    *("ignoreleadingwhitespace", "ignoretrailingwhitespace", "multiline"),
}
_OWN_NUMBERS = {"nanvalue", "positiveinf", "negativeinf", "locale"}


def csv_lines(text: Column, columns: StructType, options: Mapping[str, str]) -> Parsed:
    given = {name.lower(): value for name, value in options.items()}
    wide = widened_line(columns, given)
    schema = StructType([*wide.fields, StructField(CORRUPT_COLUMN, StringType())])
    row = f.col(ROW)
    problems = [
        (f.length(f.trim(f.col(TEXT))) == 0, "it is empty"),
        # Spark's parser loses some of them.
        (f.col(TEXT).contains("\x00"), "it holds a byte of zero"),
    ]
    if (check := _wrong_quotes(f.col(TEXT), given)) is not None:
        problems.append((check, NO_QUOTES))
    problems.append((row.getField(CORRUPT_COLUMN).isNotNull(), NO_LINE))
    return Parsed(
        row=f.from_csv(text, schema.toDDL(), dict(options)),
        value_of=row.getField,
        wide=wide,
        problems=tuple(problems),
    )


def without_its_end(text: Column) -> Column:
    """The end of the line is no part of its last value."""
    return f.when(text.endswith("\n"), f.regexp_replace(text, r"\r?\n\z", "")).otherwise(text)


def widened_line(columns: StructType, given: Mapping[str, str]) -> StructType:
    """The wide columns; options by their names in small letters."""
    wide = widened(columns, times=not has_own_times(given))
    assert isinstance(wide, StructType)
    if _OWN_NUMBERS & given.keys():
        return wide
    return StructType([StructField(each.name, _as_text(each.dataType)) for each in wide.fields])


def _wrong_quotes(line: Column, given: Mapping[str, str]) -> Column | None:
    """Whether anything is left of a line without its quoted values that stands there wrongly. None: only Spark knows."""
    separator = given.get("sep", given.get("delimiter", ","))
    quote, escape = given.get("quote", '"'), given.get("escape", "\\")
    if _OWN_DIALECT & given.keys() or any(len(each) != 1 for each in (separator, quote, escape)):
        return None
    s, q, e = (re.escape(each) for each in (separator, quote, escape))
    text, escaped = (f"[^{q}]*+", q + q) if quote == escape else (f"[^{q}{e}]*+", f"{e}[\\s\\S]")
    # One value at a time, and never back: a pattern for the whole line needs a stack as deep as the line is long.
    quoted = f"(^|{s}){q}{text}(?:{escaped}{text})*+{q}(?={s}|\\z)"
    left = f.regexp_replace(line, quoted, "$1")
    is_special = line.contains(quote) | line.contains("\n") | line.contains("\r")
    return is_special & left.rlike(f"(^|{s}){q}|[\\r\\n]")


def _as_text(kind: DataType) -> DataType:
    return StringType() if isinstance(kind, DoubleType | FloatType) else kind
