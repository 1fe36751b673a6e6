"""A value's bytes as columns, and whether they could be read at all.

Spark's parsers are lenient in silence: they take `{"a": 1} rest` for an object, make an empty value a row of NULLs, and
give a row of NULLs for Avro that is none. What is not exactly what the schema says is malformed here, and `_corrupt` says
why. Fields that the schema does not know are passed over, and fields that are missing are NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from klamm.pipeline.sources.formats.avro import avro
from klamm.pipeline.sources.formats.fitting import misfit, widened
from klamm.pipeline.sources.formats.verdict import (
    CORRUPT_COLUMN,
    NO_FIT,
    NO_UTF8,
    counted,
    first_of,
    is_no_utf8,
    nothing_wrong,
)
from klamm.pipeline.spec import RecordFormat

_ROW = "_row"
_VALUE = "v"
_END = "_end"


def decode(
    records: DataFrame,
    format: RecordFormat,
    schema: str | StructType | None,
    *,
    value: str = "value",
    options: Mapping[str, str] | None = None,
    beside: Sequence[Column] = (),
    counted_as: str | None = None,
) -> DataFrame:
    """The columns of the value (binary or text in the column `value`), the given ones `beside`, and `_corrupt`.

    A NULL is a tombstone: its columns are NULL and it is not malformed. `counted_as` names the count of all records in
    the query's progress.
    """
    if format is RecordFormat.BYTES:
        bytes_ = f.col(value).cast("binary").alias("value")
        return records.select(bytes_, *beside, nothing_wrong())
    text = f.col(value).cast("string")
    if format is RecordFormat.TEXT:
        reason = first_of((is_no_utf8(text), NO_UTF8)).alias(CORRUPT_COLUMN)
        return records.select(text.alias("value"), *beside, reason)
    if schema is None:
        raise ValueError(f"the format {format} needs a schema")
    given = _options(options or {})
    if format is RecordFormat.AVRO:
        assert isinstance(schema, str)
        return avro(records, value, schema, given, beside, counted_as)
    columns = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert isinstance(columns, StructType)
    parse = _json if format is RecordFormat.JSON else _csv
    # Two projections: in one, Spark would parse anew for every column.
    row, reason, decoded = parse(text, columns, given)
    parsed = counted(records.select(row.alias(_ROW), text.alias("_text"), *beside), counted_as)
    decoded = decoded if widened(columns) == columns else decoded.try_cast(columns)
    names = [*(decoded.getField(each.name).alias(each.name) for each in columns.fields)]
    others = [name for name in parsed.columns if name not in (_ROW, "_text")]
    return parsed.select(*names, *others, reason.alias(CORRUPT_COLUMN))


def _json(
    text: Column, columns: StructType, options: Mapping[str, str]
) -> tuple[Column, Column, Column]:
    # The parser stops at the end of the first object. Wrapped into another one, the value must end where it ends.
    wide = widened(columns)
    schema = StructType(
        [
            StructField(_VALUE, wide),
            StructField(_END, BooleanType()),
            StructField(CORRUPT_COLUMN, StringType()),
        ]
    )
    wrapped = f.concat(f.lit(f'{{"{_VALUE}":'), text, f.lit(f',"{_END}":true}}'))
    # With options, Spark does not leave out the columns that nobody reads: they must be right, too.
    row = f.from_json(wrapped, schema, dict(options))
    value = f.col(_ROW).getField(_VALUE)
    is_none = f.col(_ROW).getField(_END).isNull() | value.isNull()
    return row, _reason(is_none, "it is no JSON object", misfit(value, columns)), value


def _csv(
    text: Column, columns: StructType, options: Mapping[str, str]
) -> tuple[Column, Column, Column]:
    wide = widened(columns)
    assert isinstance(wide, StructType)
    schema = StructType([*wide.fields, StructField(CORRUPT_COLUMN, StringType())])
    row = f.from_csv(text, schema.toDDL(), dict(options))
    is_none = f.length(f.trim(f.col("_text"))) == 0
    reason = _reason(is_none, "it is empty", misfit(f.col(_ROW), columns))
    return row, reason, f.col(_ROW)


def _reason(is_none: Column, none: str, does_not_fit: Column | None) -> Column:
    text = f.col("_text")
    if does_not_fit is not None:
        # Whoever writes Infinity means it; a number that has become infinite was too large.
        does_not_fit = does_not_fit & ~f.lower(text).contains("inf")
    is_complaint = f.col(_ROW).getField(CORRUPT_COLUMN).isNotNull()
    return first_of(
        (text.isNull(), f.lit(None).cast("string")),
        (is_no_utf8(text), NO_UTF8),
        (is_none, none),
        (is_complaint, NO_FIT),
        (does_not_fit, NO_FIT),
    )


def _options(options: Mapping[str, str]) -> dict[str, str]:
    """The user's options for the parser; those that this file relies on are not the user's."""
    ours = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT_COLUMN}
    reserved = {name.lower() for name in ours}
    return {name: value for name, value in options.items() if name.lower() not in reserved} | ours
