"""Topics as a stream or as a table, through Spark's own connector."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from klamm.pipeline.client import for_spark
from klamm.pipeline.place import Place
from klamm.pipeline.sources.cluster import check_topics, partitions_by_topic
from klamm.pipeline.sources.decode import decode, unknown_of
from klamm.pipeline.sources.formats.verdict import CORRUPT_COLUMN, SOURCE_COLUMN
from klamm.pipeline.sources.trouble import SourceFailed
from klamm.pipeline.spec import (
    HEADERS_COLUMN,
    METADATA_COLUMNS,
    Edge,
    FromOffsets,
    FromTime,
    TopicSource,
)

# To the connector, as an offset.
EARLIEST_OFFSET = -2
# Of each topic's partitions.
Offsets: TypeAlias = Mapping[str, Mapping[int, tuple[int, int]]]
_RECORD_FIELDS = ("key", "topic", "partition", "offset", "timestamp")


def stream_topics(
    spark: SparkSession,
    source: TopicSource,
    place: Place,
    *,
    keep_raw: bool = False,
    counted_as: str | None = None,
) -> DataFrame:
    """Decoded, with `_source` and `_corrupt`. Raises SourceFailed before Spark would: when a topic is missing."""
    options = connector_options(source, place, there=_there(spark, source, place))
    options["includeHeaders"] = str(source.headers or keep_raw).lower()
    records = spark.readStream.format("kafka").options(**options).load()
    return _decoded(records, source, keep_raw=keep_raw, counted_as=counted_as)


def read_topics_now(
    spark: SparkSession,
    source: TopicSource,
    place: Place,
    *,
    tuning: Mapping[str, str] | None = None,
    offsets: Offsets | None = None,
) -> DataFrame:
    """What the topics hold now: the decoded columns and the metadata columns. What is malformed has NULL columns.

    `tuning` are options of the connector that the source's own win over. With `offsets` only those are read, of each
    topic's partitions from the first to the second; they must be there.
    """
    if source.start is Edge.LATEST:
        raise SourceFailed(
            "start: latest is for streams: a table begins at earliest, a time or offsets"
        )
    source = replace(source, metadata=True, max_per_batch=None)
    options = connector_options(source, place, there=_there(spark, source, place))
    options = {**(tuning or {}), **options, "includeHeaders": str(source.headers).lower()}
    if offsets is not None:
        del options["subscribe"]
        options["assign"] = json.dumps({topic: list(spans) for topic, spans in offsets.items()})
        options["startingOffsets"], options["endingOffsets"] = (
            json.dumps(
                {topic: {n: s[edge] for n, s in spans.items()} for topic, spans in offsets.items()}
            )
            for edge in (0, 1)
        )
    records = spark.read.format("kafka").options(**options).load()
    return _without_malformed(_behind_a_wall(_decoded(records, source, keep_raw=False)))


def _behind_a_wall(rows: DataFrame) -> DataFrame:
    """The same rows. Conditions on them stay behind: Spark would move them to the front of the parser, and parse once
    more for each column that they need. A stream has such a wall where it is counted."""
    # A seed, or Spark would compile each such plan anew.
    return rows.sample(1.0, seed=1)


def _without_malformed(rows: DataFrame) -> DataFrame:
    """A malformed value may have given some of its columns, right or not: none of them is shown."""
    beside = {each.name for each in (*METADATA_COLUMNS, HEADERS_COLUMN)}
    is_good = f.col(CORRUPT_COLUMN).isNull()
    names = [name for name in rows.columns if name not in (SOURCE_COLUMN, CORRUPT_COLUMN)]
    columns = {name: f.col(f"`{name.replace('`', '``')}`") for name in names}
    return rows.select(
        *(
            column if name in beside else f.when(is_good, column).alias(name)
            for name, column in columns.items()
        )
    )


def connector_options(
    source: TopicSource, place: Place, *, there: Mapping[str, list[int]]
) -> dict[str, str]:
    """All that the connector is told. `there` are the partitions of the topics that the source reads."""
    options = {
        # A transaction that was aborted never happened. The connector's default would read it.
        "kafka.isolation.level": "read_committed",
        # A task reads records that are known to be there. Its consumer still asks for what comes after them, and the
        # next question has to wait behind that one: by default half a second per partition and batch.
        "kafka.fetch.max.wait.ms": "10",
        **for_spark(place.client),
        **dict(source.options),
        "kafka.bootstrap.servers": place.bootstrap,
        **_start(source, there),
    }
    if source.pattern is not None:
        # The connector takes a topic in which it finds the pattern anywhere.
        options["subscribePattern"] = f"^(?:{source.pattern})$"
    else:
        options["subscribe"] = ",".join(source.topics)
    if source.max_per_batch is not None:
        options["maxOffsetsPerTrigger"] = str(source.max_per_batch)
    return options


def _decoded(
    records: DataFrame, source: TopicSource, *, keep_raw: bool, counted_as: str | None = None
) -> DataFrame:
    fields = [*_RECORD_FIELDS, *(["value", "headers"] if keep_raw else [])]
    beside: list[Column] = []
    if source.metadata:
        beside += [f.col(each.name[1:]).alias(each.name) for each in METADATA_COLUMNS]
    if source.headers:
        beside.append(f.col("headers").alias(HEADERS_COLUMN.name))
    beside.append(f.struct(*fields).alias(SOURCE_COLUMN))
    parser = {name: value for name, value in source.options if not name.startswith("kafka.")}
    return decode(
        records,
        source.format,
        source.schema,
        options=parser,
        beside=beside,
        counted_as=counted_as,
        unknown=unknown_of(source, is_counted=counted_as is not None and not keep_raw),
    )


def _there(spark: SparkSession, source: TopicSource, place: Place) -> dict[str, list[int]]:
    found = partitions_by_topic(place)
    if source.pattern is None:
        check_topics(source.topics, found, place.bootstrap)
        return {topic: found[topic] for topic in source.topics}
    matches = _java_pattern(spark, source.pattern)
    return {topic: partitions for topic, partitions in found.items() if matches(topic)}


def _java_pattern(spark: SparkSession, pattern: str) -> Callable[[str], bool]:
    """As the connector will decide: Java's regular expressions are not Python's."""
    assert spark._jvm is not None
    compiled = spark._jvm.java.util.regex.Pattern.compile(pattern)
    return lambda topic: bool(compiled.matcher(topic).matches())


def _start(source: TopicSource, there: Mapping[str, list[int]]) -> dict[str, str]:
    start = source.start
    if isinstance(start, FromTime):
        return {
            "startingTimestamp": str(start.timestamp_ms),
            # A partition without a record that young is read from its end.
            "startingOffsetsByTimestampStrategy": "latest",
        }
    if isinstance(start, Edge):
        return {"startingOffsets": start.value}
    return {"startingOffsets": json.dumps(_all_offsets(source, start, there))}


def _all_offsets(
    source: TopicSource, start: FromOffsets, there: Mapping[str, list[int]]
) -> dict[str, dict[str, int]]:
    """The connector wants to be told about every partition; those that the file does not name start at the earliest."""
    offsets = {t: {str(p): EARLIEST_OFFSET for p in numbers} for t, numbers in there.items()}
    for each in start.offsets:
        topic = each.topic or source.topics[0]
        if str(each.partition) not in offsets.get(topic, {}):
            count = len(offsets.get(topic, {}))
            raise SourceFailed(
                f"start names partition {each.partition} of {topic}, which has {count} (numbered from 0)"
                if count
                else f"start names the topic {topic}, which is not there or does not match the pattern"
            )
        offsets[topic][str(each.partition)] = each.offset
    return offsets
