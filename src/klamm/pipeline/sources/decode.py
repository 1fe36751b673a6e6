"""A value's bytes as columns, and whether they could be read at all.

Spark's parsers are lenient in silence: they take `{"a": 1} rest` for an object, make an empty value a row of NULLs, and
give a row of NULLs for Avro that is none. What is not exactly what the schema says is malformed here, and `_corrupt` says
why. Fields that the schema does not know are what `unknown_fields` says, and fields that are missing are NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from klamm.pipeline.sources.formats.avro import avro
from klamm.pipeline.sources.formats.csv_lines import csv_lines, without_its_end
from klamm.pipeline.sources.formats.json_objects import json_objects
from klamm.pipeline.sources.formats.texts import text_columns
from klamm.pipeline.sources.formats.unknown import Unknown
from klamm.pipeline.sources.formats.verdict import (
    CORRUPT_COLUMN,
    NO_UTF8,
    first_of,
    is_no_utf8,
    nothing_wrong,
)
from klamm.pipeline.spec import FileSource, RecordFormat, TopicSource, UnknownFields


def decode(
    records: DataFrame,
    format: RecordFormat,
    schema: str | StructType | None,
    *,
    value: str = "value",
    options: Mapping[str, str] | None = None,
    beside: Sequence[Column] = (),
    counted_as: str | None = None,
    unknown: Unknown | None = None,
) -> DataFrame:
    """The columns of the value (binary or text in the column `value`), the given ones `beside`, and `_corrupt`.

    A NULL is a tombstone: its columns are NULL and it is not malformed. `counted_as` names the count of all records in
    the query's progress. `unknown` is of fields of JSON that the schema does not name; without it nobody looks for them.
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
    text = text if format is RecordFormat.JSON else without_its_end(text)
    parse = json_objects if format is RecordFormat.JSON else csv_lines
    parsed = parse(text, columns, given)
    sought = unknown if format is RecordFormat.JSON else None
    return text_columns(records, text, parsed, columns, beside, counted_as, sought)


def unknown_of(source: TopicSource | FileSource, *, is_counted: bool) -> Unknown | None:
    """What is done about the fields that the source's schema does not name."""
    how = source.unknown_fields or UnknownFields.COUNT
    if how is UnknownFields.IGNORE or (how is UnknownFields.COUNT and not is_counted):
        return None
    return Unknown(how, is_counted)


def _options(options: Mapping[str, str]) -> dict[str, str]:
    """The user's options for the parser; those that this file relies on are not the user's."""
    ours = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT_COLUMN}
    reserved = {name.lower() for name in ours}
    return {name: value for name, value in options.items() if name.lower() not in reserved} | ours
