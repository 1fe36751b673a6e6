"""Topics as a source: where reading starts, what is asked of the cluster, what the connector is told."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from confluent_kafka import Producer

from klamm.pipeline.place import Place
from klamm.pipeline.sources.topics import connector_options, read_topics_now, stream_topics
from klamm.pipeline.sources.trouble import SourceFailed, SourceUnreachable
from klamm.pipeline.spec import (
    Edge,
    FromOffsets,
    FromTime,
    PartitionOffset,
    RecordFormat,
    Start,
    TopicSource,
)
from pipeline.reading.records import SECONDS, a_place, as_json, create, put, stream
from support.brokers import HOST, free_port

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = Place(bootstrap="b:1", checkpoint="c", warehouse="w")


def a_source(*topics: str, **more: Any) -> TopicSource:
    return TopicSource(topics=topics, **{"format": RecordFormat.TEXT, **more})


def told(source: TopicSource, **client: str) -> dict[str, str]:
    place = Place(bootstrap="b:1", checkpoint="c", warehouse="w", client=client)
    return connector_options(source, place, there={topic: [0, 1, 2] for topic in source.topics})


def test_aborted_transactions_are_never_read() -> None:
    options = told(a_source("clicks", "views"))

    assert options["kafka.isolation.level"] == "read_committed"
    assert options["subscribe"] == "clicks,views"
    assert options["startingOffsets"] == "earliest"


def test_pattern_takes_the_place_of_topics() -> None:
    options = told(TopicSource(pattern=r"logs\..*"))

    assert options["subscribePattern"] == r"^(?:logs\..*)$"
    assert "subscribe" not in options


def test_start_at_a_time_is_told_in_milliseconds() -> None:
    options = told(a_source("clicks", start=FromTime(1794736800000)))

    assert options["startingTimestamp"] == "1794736800000"
    assert "startingOffsets" not in options


def test_start_at_offsets_names_every_partition_of_every_topic() -> None:
    start = FromOffsets((PartitionOffset("clicks", 1, 42),))

    options = told(a_source("clicks", "views", start=start))

    assert options["startingOffsets"] == (
        '{"clicks": {"0": -2, "1": 42, "2": -2}, "views": {"0": -2, "1": -2, "2": -2}}'
    )


@pytest.mark.parametrize(
    ("offset", "sentence"),
    [
        (PartitionOffset("", 7, 1), "start names partition 7 of clicks, which has 3"),
        (PartitionOffset("view", 0, 1), "start names the topic view, which is not there"),
    ],
)
def test_start_at_a_partition_that_is_not_there_is_refused(
    offset: PartitionOffset, sentence: str
) -> None:
    with pytest.raises(SourceFailed, match=sentence):
        told(a_source("clicks", start=FromOffsets((offset,))))


def test_options_and_settings_are_passed_on_by_their_names() -> None:
    source = a_source(
        "clicks", max_per_batch=500, options=(("failOnDataLoss", "false"), ("minPartitions", "8"))
    )

    options = told(source, **{"security.protocol": "SSL", "fetch.max.wait.ms": "500"})

    assert options["kafka.security.protocol"] == "SSL"
    assert options["kafka.fetch.max.wait.ms"] == "500"
    assert options["maxOffsetsPerTrigger"] == "500"
    assert (options["failOnDataLoss"], options["minPartitions"]) == ("false", "8")


@pytest.fixture(scope="module")
def letters(broker: Any) -> str:
    """A topic of two partitions: a, b, c in one, d in the other, a second apart; and one transaction that failed."""
    bootstrap: str = broker.address
    create(bootstrap, "alphabet", partitions=2)
    for second, (value, partition) in enumerate([("a", 0), ("b", 0), ("c", 0), ("d", 1)]):
        put(
            bootstrap,
            "alphabet",
            value.encode(),
            partition=partition,
            timestamp=1000 * (second + 1),
        )
    aborted = Producer({"bootstrap.servers": bootstrap, "transactional.id": "aborted"})
    aborted.init_transactions(SECONDS)
    aborted.begin_transaction()
    aborted.produce("alphabet", b"never", partition=0)
    aborted.flush(SECONDS)
    aborted.abort_transaction(SECONDS)
    return "alphabet"


@pytest.mark.parametrize(
    ("start", "values"),
    [
        (Edge.EARLIEST, "abcd"),
        (FromTime(2000), "bcd"),
        (FromTime(4000), "d"),
        (FromOffsets((PartitionOffset("", 0, 2),)), "cd"),
    ],
)
def test_reading_begins_where_the_file_says(
    spark: "SparkSession", bootstrap: str, tmp_path: Path, letters: str, start: Start, values: str
) -> None:
    rows = read_topics_now(spark, a_source(letters, start=start), a_place(bootstrap, tmp_path))

    assert sorted(row.value for row in rows.collect()) == list(values)


def test_pattern_reads_every_topic_that_matches_as_a_whole(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "logs.web", "logs.db", "no-logs.web")
    for topic in ("logs.web", "logs.db", "no-logs.web"):
        put(bootstrap, topic, topic.encode())
    start = FromOffsets((PartitionOffset("logs.db", 0, 1),))
    source = TopicSource(pattern=r"logs\.(web|db)", format=RecordFormat.TEXT)

    place = a_place(bootstrap, tmp_path)
    all_rows = read_topics_now(spark, source, place)
    later = read_topics_now(
        spark, TopicSource(pattern=source.pattern, format=RecordFormat.TEXT, start=start), place
    )

    assert sorted(row.value for row in all_rows.collect()) == ["logs.db", "logs.web"]
    assert [row.value for row in later.collect()] == ["logs.web"]


def test_batches_are_no_larger_than_the_file_allows(
    spark: "SparkSession", bootstrap: str, tmp_path: Path, letters: str
) -> None:
    source = a_source(letters, max_per_batch=2)

    streamed = stream(stream_topics(spark, source, a_place(bootstrap, tmp_path)))

    assert sorted(row.value for row in streamed.rows) == list("abcd")
    assert streamed.batches >= 2


def test_table_of_a_topic_has_the_metadata_and_nulls_for_what_is_malformed(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "as-table")
    put(bootstrap, "as-table", *as_json({"user": "ann"}), b"{no json", key=b"k", timestamp=5000)
    source = TopicSource(topics=("as-table",), schema="user string")

    rows = read_topics_now(spark, source, a_place(bootstrap, tmp_path))

    assert rows.columns == ["user", "_key", "_topic", "_partition", "_offset", "_timestamp"]
    found = [(row.user, bytes(row._key), row._offset) for row in rows.collect()]
    assert found == [("ann", b"k", 0), (None, b"k", 1)]


def test_table_of_a_topic_parses_a_value_once_whatever_is_asked_of_it(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "asked-once")
    put(bootstrap, "asked-once", *as_json({"user": "ann", "ms": 1}, {"user": "bob", "ms": 5}))
    source = TopicSource(topics=("asked-once",), schema="user string, ms int, at timestamp")

    rows = read_topics_now(spark, source, a_place(bootstrap, tmp_path))

    slow = rows.where("ms > 1 AND user <> ''").selectExpr("upper(user) AS user")
    assert [row.user for row in slow.collect()] == ["BOB"]
    assert _executed(slow).count("from_json") == 1
    assert "from_json" not in _executed(rows.selectExpr("max(_offset)"))


def _executed(rows: "DataFrame") -> str:
    return str(rows._jdf.queryExecution().executedPlan().toString())


def test_missing_topic_is_told_before_spark_starts(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "purchases")

    with pytest.raises(SourceFailed, match=r"no topic purchase on .*; did you mean purchases\?"):
        stream_topics(spark, a_source("purchase"), a_place(bootstrap, tmp_path))


def test_cluster_that_does_not_answer_may_come_back(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("klamm.pipeline.sources.cluster.TIMEOUT_SECONDS", 0.5)
    nobody = f"{HOST}:{free_port()}"

    with pytest.raises(SourceUnreachable, match=f"the cluster at {nobody} does not answer"):
        stream_topics(spark, a_source("clicks"), a_place(nobody, tmp_path))
