"""A value's bytes as columns, and whether they could be read at all.

Spark's parsers are lenient in silence: they take `{"a": 1} rest` for an object, make an empty value a row of NULLs, and
give a row of NULLs for Avro that is none. What is not exactly what the schema says is malformed here. Fields that the
schema does not know are passed over, and fields that are missing are NULL.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from klamm.pipeline.sources.fitting import any_of, misfit, widened
from klamm.pipeline.spec import RecordFormat

# Beside the value's own columns: where the record came from, and whether its value could not be read.
SOURCE_COLUMN = "_source"
CORRUPT_COLUMN = "_corrupt"

_ROW = "_row"
_VALUE = "v"
_END = "_end"
_DECODED = "_klamm_decoded"


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
        return records.select(bytes_, *beside, f.lit(False).alias(CORRUPT_COLUMN))
    text = f.col(value).cast("string")
    if format is RecordFormat.TEXT:
        return records.select(text.alias("value"), *beside, _is_no_utf8(text).alias(CORRUPT_COLUMN))
    if schema is None:
        raise ValueError(f"the format {format} needs a schema")
    given = _options(options or {})
    if format is RecordFormat.AVRO:
        assert isinstance(schema, str)
        return _avro(records, value, schema, given, beside, counted_as)
    columns = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert isinstance(columns, StructType)
    parse = _json if format is RecordFormat.JSON else _csv
    # Two projections: in one, Spark would parse anew for every column.
    row, is_corrupt, decoded = parse(text, columns, given)
    parsed = counted(records.select(row.alias(_ROW), text.alias("_text"), *beside), counted_as)
    decoded = decoded if widened(columns) == columns else decoded.try_cast(columns)
    names = [*(decoded.getField(each.name).alias(each.name) for each in columns.fields)]
    others = [name for name in parsed.columns if name not in (_ROW, "_text")]
    return parsed.select(*names, *others, is_corrupt.alias(CORRUPT_COLUMN))


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
    return row, _is_corrupt(is_none, misfit(value, columns)), value


def _csv(
    text: Column, columns: StructType, options: Mapping[str, str]
) -> tuple[Column, Column, Column]:
    wide = widened(columns)
    assert isinstance(wide, StructType)
    schema = StructType([*wide.fields, StructField(CORRUPT_COLUMN, StringType())])
    row = f.from_csv(text, schema.toDDL(), dict(options))
    is_none = f.length(f.trim(f.col("_text"))) == 0
    return row, _is_corrupt(is_none, misfit(f.col(_ROW), columns)), f.col(_ROW)


def _is_corrupt(is_none: Column, does_not_fit: Column | None) -> Column:
    text = f.col("_text")
    if does_not_fit is not None:
        # Whoever writes Infinity means it; a number that has become infinite was too large.
        does_not_fit = does_not_fit & ~f.lower(text).contains("inf")
    is_complaint = f.col(_ROW).getField(CORRUPT_COLUMN).isNotNull()
    found = any_of([is_complaint, is_none, does_not_fit, _is_no_utf8(text)])
    assert found is not None
    return text.isNotNull() & found


def _avro(
    records: DataFrame,
    value: str,
    schema: str,
    options: Mapping[str, str],
    beside: Sequence[Column],
    counted_as: str | None,
) -> DataFrame:
    from pyspark.sql.avro.functions import from_avro

    written = json.loads(schema)
    is_record = written.get("type") == "record"
    if is_record:
        # Bytes that cannot be read become a row of NULLs, as may bytes that can. A field with a default tells them apart.
        mark = {"name": _DECODED, "type": "boolean", "default": True}
        wanted = {**written, "fields": [*written["fields"], mark]}
        options = {**options, "avroSchema": json.dumps(wanted)}
    row = from_avro(f.col(value), schema, dict(options))
    parsed = records.select(row.alias(_ROW), f.col(value).alias("_bytes"), *beside)
    parsed = counted(parsed, counted_as)
    others = [name for name in parsed.columns if name not in (_ROW, "_bytes")]
    decoded = f.col(_ROW)
    if is_record:
        kind = parsed.schema[_ROW].dataType
        assert isinstance(kind, StructType)
        fields = [each.name for each in kind.fields if each.name != _DECODED]
        names = [decoded.getField(each).alias(each) for each in fields]
        is_none = decoded.getField(_DECODED).isNull()
    else:
        names, is_none = [decoded.alias("value")], decoded.isNull()
    is_corrupt = f.col("_bytes").isNotNull() & is_none
    return parsed.select(*names, *others, is_corrupt.alias(CORRUPT_COLUMN))


def counted(parsed: DataFrame, name: str | None) -> DataFrame:
    """Counts the rows, under a name that comes with the query's progress."""
    # It is also a wall: Spark would move the checks to the front of the parser and parse once for each of them.
    return parsed if name is None else parsed.observe(name, f.count(f.lit(1)).alias("rows"))


def _is_no_utf8(text: Column) -> Column:
    return f.coalesce(~f.is_valid_utf8(text), f.lit(False))


def _options(options: Mapping[str, str]) -> dict[str, str]:
    """The user's options for the parser; those that this file relies on are not the user's."""
    ours = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT_COLUMN}
    reserved = {name.lower() for name in ours}
    return {name: value for name, value in options.items() if name.lower() not in reserved} | ours
