"""A database as a stream: its rows land as files, and Spark streams those, so that windows, joins and state work."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.place import Place
from klamm.pipeline.sources.files import with_source
from klamm.pipeline.sources.landing import Landing
from klamm.pipeline.spec import JdbcSource

# A file that landed long ago and was not read yet must not count as too old.
_FOR_EVER = "36500d"


def open_landing(spark: SparkSession, source: JdbcSource, place: Place) -> Landing:
    """With all the rows that are there now."""
    landing = Landing(spark, source, f"{place.checkpoint.rstrip('/')}/landed.{source.name}")
    landing.land_all()
    return landing


def stream_landed(
    spark: SparkSession,
    source: JdbcSource,
    landing: Landing,
    *,
    keep_raw: bool = False,
    counted_as: str | None = None,
) -> DataFrame:
    reader = spark.readStream.format("parquet").schema(landing.schema)
    reader = reader.option("maxFileAge", _FOR_EVER)
    if source.max_per_batch is not None:
        # One file is one round of the landing, which has that many rows.
        reader = reader.option("maxFilesPerTrigger", 1)
    rows = reader.load(landing.path)
    return with_source(rows, file=None, keep_raw=keep_raw, counted_as=counted_as)
