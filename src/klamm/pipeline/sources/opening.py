"""Any source as a stream of decoded rows, with the two private columns `_source` and `_corrupt`."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.place import Place
from klamm.pipeline.sources.database import open_landing, stream_landed
from klamm.pipeline.sources.files import stream_files
from klamm.pipeline.sources.topics import stream_topics
from klamm.pipeline.spec import FileSource, JdbcSource, Source, TopicSource


class OpenSource:
    """A source that is there. It may be read several times, by queries of their own."""

    def __init__(self, spark: SparkSession, source: Source, place: Place) -> None:
        self._spark = spark
        self._source = source
        self._place = place
        # Of a database: the rows that are there now have landed.
        self.landing = (
            open_landing(spark, source, place) if isinstance(source, JdbcSource) else None
        )

    def rows(self, *, keep_raw: bool = False, counted_as: str | None = None) -> DataFrame:
        """`keep_raw`: `_source` also holds key, value and headers as they came, which only dead letters need.

        `counted_as` names the count of all records in the query's progress.
        """
        spark, source = self._spark, self._source
        match source:
            case TopicSource():
                return stream_topics(
                    spark, source, self._place, keep_raw=keep_raw, counted_as=counted_as
                )
            case FileSource():
                return stream_files(spark, source, keep_raw=keep_raw, counted_as=counted_as)
            case JdbcSource():
                assert self.landing is not None
                return stream_landed(
                    spark, source, self.landing, keep_raw=keep_raw, counted_as=counted_as
                )
