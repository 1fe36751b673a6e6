"""What JSON and CSV have in common: columns read wide, made narrow, and the reasons why a text is malformed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from klamm.pipeline.sources.formats.fitting import (
    any_of,
    has_twice,
    is_infinite,
    narrowed,
    some,
    was_lost,
)
from klamm.pipeline.sources.formats.unknown import (
    Unknown,
    has_unknown,
    rescued,
    unknown_counts,
    unknown_names,
    unknown_words,
)
from klamm.pipeline.sources.formats.verdict import (
    CORRUPT_COLUMN,
    NO_FIT,
    NO_UTF8,
    counted,
    first_of,
    is_no_utf8,
)

ROW = "_klamm_row"
TEXT = "_klamm_text"
TWICE = "a key stands twice in a map"

# With these the user says how times are written, and Spark reads no others.
_TIME_OPTIONS = {"timestampformat", "timestampntzformat", "dateformat", "timezone", "locale"}
# Whoever writes Infinity means it; a number that has become infinite was too large.
_MEANT = "inf"
_TOO_LARGE = r"[0-9][eE][+]?[0-9]{3}|[0-9]{300}"

ValueOf = Callable[[str], Column]


@dataclass(frozen=True, slots=True)
class Parsed:
    """How a text is parsed (`row`, of the column TEXT), and what is made of the column ROW."""

    row: Column
    # The wide values by the names of their columns.
    value_of: ValueOf
    wide: StructType
    # What is wrong before its values are looked at, with words for it.
    problems: tuple[tuple[Column, str], ...]


def has_own_times(options: Mapping[str, str]) -> bool:
    return any(name.lower() in _TIME_OPTIONS for name in options)


def text_columns(
    records: DataFrame,
    text: Column,
    parsed: Parsed,
    columns: StructType,
    beside: Sequence[Column],
    counted_as: str | None,
    unknown: Unknown | None = None,
) -> DataFrame:
    """The columns (with `_rescued`, if asked for), those beside them, and `_corrupt`."""
    # Three projections: in one, Spark would parse anew for every column, and convert anew for every check. The count
    # stands before the checks, or Spark would move them, and with them all that they need, to the front of it.
    rows = records.select(parsed.row.alias(ROW), text.alias(TEXT), *beside)
    others = [name for name in rows.columns if name not in (ROW, TEXT)]
    narrow = rows.select("*", *narrow_columns(columns, parsed.wide, parsed.value_of))
    if unknown is not None:
        narrow = narrow.select("*", unknown_names(f.col(TEXT), columns))
    narrow = counted(narrow, counted_as, unknown_counts() if unknown and unknown.is_counted else ())
    told = f.col(TEXT)
    reason = first_of(
        (told.isNull(), f.lit(None).cast("string")),
        (is_no_utf8(told), NO_UTF8),
        *parsed.problems,
        *misfits(columns, parsed.wide, parsed.value_of, told),
        *([(has_unknown(), unknown_words())] if unknown and unknown.is_malformed else []),
    ).alias(CORRUPT_COLUMN)
    names = [quoted(each.name) for each in columns.fields]
    if unknown is not None and unknown.is_rescued:
        names.append(rescued(told))
    return narrow.select(*names, *others, reason)


def narrow_columns(columns: StructType, wide: StructType, value_of: ValueOf) -> list[Column]:
    return [
        narrowed(value_of(each.name), w.dataType, each.dataType).alias(each.name)
        for each, w in zip(columns.fields, wide.fields, strict=True)
    ]


def misfits(
    columns: StructType, wide: StructType, value_of: ValueOf, text: Column
) -> list[tuple[Column | None, str]]:
    """Where the narrow columns have their names already: reasons for those that do not fit."""
    pairs = list(zip(columns.fields, wide.fields, strict=True))
    lost = any_of([_is_lost(value_of(k.name), w, k) for k, w in pairs])
    infinite = any_of(
        [some(value_of(k.name), w.dataType, k.dataType, is_infinite) for k, w in pairs]
    )
    if infinite is not None:
        infinite = infinite & (~f.lower(text).contains(_MEANT) | text.rlike(_TOO_LARGE))
    twice = any_of([some(value_of(k.name), w.dataType, k.dataType, has_twice) for k, w in pairs])
    return [(lost, NO_FIT), (infinite, NO_FIT), (twice, TWICE)]


def _is_lost(value: Column, wide: StructField, kind: StructField) -> Column | None:
    if wide.dataType == kind.dataType:
        return None
    if isinstance(kind.dataType, StructType | ArrayType | MapType):
        return some(value, wide.dataType, kind.dataType, was_lost)
    return value.isNotNull() & quoted(kind.name).isNull()


def quoted(name: str) -> Column:
    return f.col(f"`{name.replace('`', '``')}`")
