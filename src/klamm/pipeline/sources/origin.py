"""Where a record came from, in words and as a dead letter's headers: read out of the struct `_source`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

from klamm.pipeline.spec import FileSource, JdbcSource, Source


def origin_headers(source: Source, record: Column) -> dict[str, Column]:
    """By the headers' names; all as text."""
    if isinstance(source, FileSource):
        return {"klamm.file": record.getField("file")}
    if isinstance(source, JdbcSource):
        return {"klamm.table": f.lit(source.table or "query")}
    return {
        "klamm.topic": record.getField("topic"),
        "klamm.partition": record.getField("partition").cast("string"),
        "klamm.offset": record.getField("offset").cast("string"),
        "klamm.timestamp": f.unix_millis(record.getField("timestamp")).cast("string"),
    }


def origin_words(source: Source, record: Column) -> Column:
    """`offset 42 of clicks-0`."""
    if isinstance(source, FileSource):
        return f.concat(f.lit("a line of "), record.getField("file"))
    if isinstance(source, JdbcSource):
        return f.lit(f"a row of {source.table or 'the query'}")
    topic, partition, offset = (record.getField(e) for e in ("topic", "partition", "offset"))
    return f.concat(f.lit("offset "), offset, f.lit(" of "), topic, f.lit("-"), partition)
