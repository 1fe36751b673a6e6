"""Rows as records: the columns key, value and perhaps headers, as a topic takes them."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.avro.functions import to_avro
from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

from klamm.pipeline.failures.trouble import sentence_of
from klamm.pipeline.sinks.tables.columns import quoted
from klamm.pipeline.sinks.trouble import SinkFailed
from klamm.pipeline.spec.model.sinks import TopicSink
from klamm.pipeline.spec.model.sources import RecordFormat

VALUE = "value"
HEADERS_TYPE = "array<struct<key:string,value:binary>>"
# Spark's writer cuts blanks off the ends of texts otherwise; its reader keeps them.
_AS_IT_IS = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
_NESTED = (StructType, ArrayType, MapType, VariantType)


def as_records(rows: DataFrame, sink: TopicSink) -> DataFrame:
    """key and value as bytes, and headers, never NULL, if the sink has some. SinkFailed names the part that cannot be had."""
    columns = [
        _column(rows, sink, "the key", _key(rows, sink)).alias("key"),
        _column(rows, sink, f"the value as {sink.format}", _value(rows, sink)).alias("value"),
    ]
    if sink.headers is not None:
        headers = _column(rows, sink, "the headers", _headers(sink.headers))
        columns.append(headers.alias("headers"))
    return rows.select(*columns)


def _column(rows: DataFrame, sink: TopicSink, what: str, column: Column) -> Column:
    """The column, if Spark can compute it from these rows."""
    try:
        rows.select(column)
    except AnalysisException as error:
        why = sentence_of(error)
        raise SinkFailed(f"{what} for topic {sink.topic} cannot be computed: {why}") from None
    return column


def _key(rows: DataFrame, sink: TopicSink) -> Column:
    if sink.key is None:
        return f.lit(None).cast("binary")
    key = f.expr(sink.key)
    # Text of a struct is for people; JSON can be read back.
    is_nested = isinstance(_type_of(rows, sink, key), _NESTED)
    return (f.to_json(key) if is_nested else key).cast("string").cast("binary")


def _type_of(rows: DataFrame, sink: TopicSink, key: Column) -> object:
    return rows.select(_column(rows, sink, "the key", key)).schema.fields[0].dataType


def _value(rows: DataFrame, sink: TopicSink) -> Column:
    if sink.format in (RecordFormat.TEXT, RecordFormat.BYTES):
        if VALUE not in rows.columns:
            raise SinkFailed(
                f"topic {sink.topic} is written as {sink.format}, which needs the column value; "
                f"the rows have {', '.join(rows.columns)}"
            )
        value = f.col(VALUE)
        return (value.cast("string") if sink.format is RecordFormat.TEXT else value).cast("binary")
    names = [name for name in rows.columns if name != sink.headers]
    whole = f.struct(*(f.col(quoted(name)) for name in names))
    if sink.format is RecordFormat.AVRO:
        assert sink.schema is not None, "the file's check asks for it"
        return to_avro(whole, sink.schema)
    if sink.format is RecordFormat.JSON:
        return f.to_json(whole).cast("binary")
    return f.to_csv(whole, _AS_IT_IS).cast("binary")


def _headers(column: str) -> Column:
    # A header without a key is none.
    own = f.filter(f.col(quoted(column)).cast(HEADERS_TYPE), lambda each: each["key"].isNotNull())
    # On the way to Python Spark asks Arrow at each row how large the batch is, and Arrow counts all lists since the last
    # that was not NULL: with a column of NULLs that took longer than all the rest.
    return f.coalesce(own, f.array().cast(HEADERS_TYPE))
