"""Avro: what does not take exactly the value's bytes, or does not fit its type, is malformed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import DataType, StringType, StructType

from klamm.pipeline.sources.formats.avro_schema import END, END_BYTES, VALUE, exact, with_end
from klamm.pipeline.sources.formats.fitting import narrowed, some, was_lost
from klamm.pipeline.sources.formats.verdict import CORRUPT_COLUMN, NO_FIT, counted, first_of

LEFT_OVER = "bytes are left behind its end"
_ROW = "_row"
_BYTES = "_bytes"
_READER_SCHEMA = "avroSchema"
# What a schema registry's clients write before the value: this byte and four of the schema's id.
_MAGIC = b"\x00"
_HEADER_BYTES = 5


def avro(
    records: DataFrame,
    value: str,
    schema: str,
    options: Mapping[str, str],
    beside: Sequence[Column],
    counted_as: str | None,
) -> DataFrame:
    """The columns of a record, or the one column `value` of any other type."""
    # Not known before: no value can hold it by accident or by intent.
    end = f.lit(secrets.token_bytes(END_BYTES))
    written, given = json.loads(schema), dict(options)
    wanted = given.get(_READER_SCHEMA)
    target = records.select(from_avro(f.col(value), schema, given).alias(_ROW)).schema[_ROW]
    if wanted is None:
        written = exact(written)
    else:
        given[_READER_SCHEMA] = json.dumps(with_end(json.loads(wanted)))
    row = from_avro(f.concat(f.col(value), end), json.dumps(with_end(written)), given)
    parsed = records.select(row.alias(_ROW), f.col(value).alias(_BYTES), *beside)
    wide = parsed.select(f.col(_ROW).getField(VALUE)).schema[0].dataType
    parsed = counted(parsed, counted_as)
    others = [name for name in parsed.columns if name not in (_ROW, _BYTES)]
    decoded = f.col(_ROW).getField(VALUE)
    names = _columns(decoded, wide, target.dataType)
    reason = _reason(f.col(_ROW).getField(END), end, some(decoded, wide, target.dataType, _misfit))
    return parsed.select(*names, *others, reason.alias(CORRUPT_COLUMN))


def _columns(decoded: Column, wide: DataType, target: DataType) -> list[Column]:
    if not isinstance(target, StructType):
        return [narrowed(decoded, wide, target).alias("value")]
    assert isinstance(wide, StructType)
    pairs = zip(wide.fields, target.fields, strict=True)
    return [
        narrowed(decoded.getField(w.name), w.dataType, t.dataType).alias(t.name) for w, t in pairs
    ]


def _reason(found: Column, end: Column, does_not_fit: Column | None) -> Column:
    value = f.col(_BYTES)
    number = f.conv(f.hex(f.substring(value, 2, 4)), 16, 10)
    framed = f.concat(
        f.lit("it begins like a value of a schema registry (magic byte 0, schema id "),
        number,
        f.lit("), and klamm reads Avro without that header"),
    )
    is_framed = (f.substring(value, 1, 1) == f.lit(_MAGIC)) & (f.length(value) > _HEADER_BYTES)
    wrong = first_of(
        (is_framed & (number != "0"), framed),
        (found.isNull(), "its bytes are none of the schema, or end too early"),
        (f.lit(True), LEFT_OVER),
    )
    ends_elsewhere = ~f.coalesce(found == end, f.lit(False))
    return first_of(
        (value.isNull(), f.lit(None).cast("string")),
        (ends_elsewhere, wrong),
        (does_not_fit, NO_FIT),
    )


def _misfit(value: Column, wide: DataType, kind: DataType) -> Column | None:
    return ~f.is_valid_utf8(value) if isinstance(wide, StringType) else was_lost(value, wide, kind)
