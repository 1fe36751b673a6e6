"""`klamm table`: a topic is kept as a table, by a pipeline like any other."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from confluent_kafka import Producer

from cli.commands import Answer
from klamm.cli.sql.table import dead_letter_topic, default_table, file_of, pipeline_name
from klamm.pipeline.spec import TableSink, TopicSource, parse
from pipeline.reading.records import records_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Klamm = Callable[..., Answer]
Topic = Callable[..., str]


@pytest.mark.parametrize(
    ("topic", "table"), [("clicks", "clicks"), ("page-stats.v2", "page_stats_v2"), ("2nd", "t_2nd")]
)
def test_table_is_named_after_the_topic(topic: str, table: str) -> None:
    assert default_table(topic) == table


def test_long_topics_have_dead_letters_of_their_own() -> None:
    one, other = dead_letter_topic("a" * 249), dead_letter_topic("a" * 248 + "b")

    assert one != other
    assert max(len(one), len(other)) <= 249
    assert dead_letter_topic("clicks") == "clicks.dead"


def test_long_topics_have_pipelines_of_their_own() -> None:
    one, other = pipeline_name("a" * 249), pipeline_name("a" * 248 + "b")

    assert one != other
    assert max(len(one), len(other)) <= 100
    assert pipeline_name("clicks") == "table.clicks"


@pytest.mark.usefixtures("in_the_session")
def test_topic_is_in_the_table_and_the_next_call_goes_on(
    bootstrap: str,
    topic: Topic,
    klamm: Klamm,
    spark: "SparkSession",
    warehouse: Path,
) -> None:
    topic("table.clicks", b'{"user": "ann", "ms": 5}', b'{"user": "bob", "ms": 7}', b"{broken")
    command = ("table", "table.clicks", "--once", "--warehouse", str(warehouse))

    first = klamm(*command)
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("table.clicks", b'{"user": "eve", "ms": 9, "new": 1}', partition=1)
    assert producer.flush(20) == 0
    second = klamm(*command)

    assert first.code == 0, first.err
    assert "table.clicks: user string, ms bigint (learned from 3 records)" in first.err
    assert (
        "1 of them are no JSON objects: such records go to the topic table.clicks.dead" in first.err
    )
    assert "3 records in 2 batches, 1 dead letters" in first.err
    assert [m.value() for m in records_of(bootstrap, "table.clicks.dead")] == [b"{broken"]
    question = f"klamm sql --warehouse {warehouse} "
    assert f'{question}"SELECT * FROM lake.default.table_clicks LIMIT 10"' in first.err
    assert second.code == 0, second.err
    assert "with the columns of" in second.err
    rows = spark.sql("SELECT user, ms, _topic_partition, _offset FROM lake.default.table_clicks")
    found = sorted(tuple(row) for row in rows.collect())
    assert found == [("ann", 5, 0, 0), ("bob", 7, 1, 0), ("eve", 9, 1, 1)]
    pipeline = parse(file_of("table.clicks").read_text())
    [source], [sink] = pipeline.sources, pipeline.sinks
    assert isinstance(source, TopicSource)
    assert isinstance(sink, TableSink)
    assert (pipeline.name, sink.table) == ("table.table.clicks", "table_clicks")
    assert source.schema == "user string, ms bigint"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("table_gone",), 1, "there is no topic table_gone"),
        (("table_gone", "--as", "a-b"), 2, "--as 'a-b' is not a table's name"),
        (("table_gone", "--schema", "user"), 2, "user has no type"),
    ],
)
def test_what_cannot_be_kept_is_told_before_spark_starts(
    klamm: Klamm, arguments: tuple[str, ...], code: int, words: str
) -> None:
    answer = klamm("table", *arguments)

    assert answer.code == code
    assert words in answer.err
    assert "Spark starts" not in answer.err


def test_misspelt_topic_gives_the_nearest(klamm: Klamm, topic: Topic) -> None:
    topic("table_orders")

    answer = klamm("table", "table_order")

    assert (answer.code, "did you mean table_orders?" in answer.err) == (1, True)
    assert not os.path.exists(file_of("table_order"))
