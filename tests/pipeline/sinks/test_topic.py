"""Rows into a topic, each once: repeated batches, other numbers of writers, lost markers, every format."""

import json
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as f

from klamm.pipeline.place import Place
from klamm.pipeline.sinks import topic as topic_module
from klamm.pipeline.sinks.ends import in_parts
from klamm.pipeline.sinks.making import make_dead_letter_sink, make_sink
from klamm.pipeline.sinks.parts import PartWriter
from klamm.pipeline.sinks.records import as_records
from klamm.pipeline.sinks.trouble import MarkerLost, SinkFailed
from klamm.pipeline.spec import Delivery, LostMarker, RecordFormat, TopicSink
from pipeline.sinks import topics
from pipeline.sinks.flaky_tasks import FlakyWriter
from support.brokers import start_klamm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from klamm.pipeline.sinks.sink import Sink


@pytest.fixture
def place(bootstrap: str) -> Place:
    return Place(bootstrap=bootstrap, checkpoint="", warehouse="")


@pytest.fixture
def topic(bootstrap: str, request: pytest.FixtureRequest) -> str:
    name = re.sub("[^A-Za-z0-9]+", "-", request.node.name)
    topics.create(bootstrap, name)
    return name


def clicks(spark: "SparkSession", count: int = 100) -> "DataFrame":
    return spark.range(count).selectExpr("concat('user-', id) AS user", "id AS ms")


def opened(
    spark: "SparkSession",
    place: Place,
    sink: TopicSink,
    *,
    query: str | None = None,
    delivery: Delivery = Delivery.EXACTLY_ONCE,
) -> "Sink":
    made = make_sink(spark, sink, place, delivery)
    made.open(query or f"query-of-{sink.topic}")
    return made


def users(place: Place, topic: str) -> Counter[str]:
    return topics.count_per_user(place.bootstrap, topic)


@pytest.mark.parametrize("writers", [1, 3])
def test_batch_that_is_repeated_by_the_next_run_is_there_once(
    spark: "SparkSession", place: Place, topic: str, writers: int
) -> None:
    sink, batch = TopicSink(topic=topic, key="user", writers=writers), clicks(spark)
    first = opened(spark, place, sink)
    assert first.write(batch, 0)
    first.close()

    again = opened(spark, place, sink)

    # Otherwise partitioned, as a replay may be.
    assert not again.write(batch.repartition(5), 0)
    assert users(place, topic) == topics.once_each(range(100))
    assert again.write(batch, 1)
    assert set(users(place, topic).values()) == {2}


def test_new_query_is_no_repetition(spark: "SparkSession", place: Place, topic: str) -> None:
    for query in ("first", "second"):
        assert opened(spark, place, TopicSink(topic=topic), query=query).write(clicks(spark), 0)

    assert set(users(place, topic).values()) == {2}


def test_batch_without_rows_renews_every_marker(
    spark: "SparkSession", place: Place, topic: str
) -> None:
    sink = TopicSink(topic=topic, writers=2)
    first = opened(spark, place, sink)
    # Spark runs no task for rows that it has kept and knows to be none.
    kept = clicks(spark).where("ms < 0").persist()
    assert kept.count() == 0
    for batch_id, batch in enumerate([clicks(spark, 0), kept, kept]):
        first.write(batch, batch_id)
    kept.unpersist()

    heir = opened(spark, place, sink)

    assert not heir.write(clicks(spark), 2)
    assert heir.write(clicks(spark), 3)


def test_batch_that_was_cut_off_is_finished_by_as_many_writers_as_began_it(
    spark: "SparkSession", place: Place, topic: str
) -> None:
    two, three = TopicSink(topic=topic, writers=2), TopicSink(topic=topic, writers=3)
    opened(spark, place, two).write(clicks(spark, 0), 0)
    write_one_part_only(spark, place, two, batch_id=1)
    heir = opened(spark, place, three)

    assert heir.write(clicks(spark), 1)
    assert users(place, topic) == topics.once_each(range(100))
    assert heir.write(clicks(spark, 10), 2)
    assert users(place, topic).total() == 110
    # And back: the last batch is known, whoever wrote it.
    assert not opened(spark, place, two).write(clicks(spark, 10), 2)


def test_first_batch_of_another_number_of_writers_may_be_cut_off(
    spark: "SparkSession", place: Place, topic: str
) -> None:
    one, two = TopicSink(topic=topic, writers=1), TopicSink(topic=topic, writers=2)
    opened(spark, place, one).write(clicks(spark, 0), 0)
    write_one_part_only(spark, place, two, batch_id=1, may_be_first=True)

    heir = opened(spark, place, two)

    assert heir.write(clicks(spark), 1)
    assert users(place, topic) == topics.once_each(range(100))
    assert not opened(spark, place, one).write(clicks(spark), 1)


def write_one_part_only(
    spark: "SparkSession",
    place: Place,
    sink: TopicSink,
    *,
    batch_id: int,
    may_be_first: bool = False,
) -> None:
    """As if the driver had died when the first of two tasks had committed."""
    query = f"query-of-{sink.topic}"
    part_writer = PartWriter(
        bootstrap=place.bootstrap,
        topic=sink.topic,
        prefix=f"{query}.{sink.label}.{sink.writers}",
        batch_id=batch_id,
        may_be_first=may_be_first,
    )
    records = in_parts(as_records(clicks(spark), sink), sink.writers)
    of_first = records.where((f.spark_partition_id() == 0) & ~f.col("is_end"))
    values = [row["value"] for row in of_first.collect()]
    assert 0 < len(values) < 100
    part_writer.write(0, [([None] * len(values), [bytes(value) for value in values], None)])


def test_batch_whose_markers_are_lost_waits_for_a_decision(
    spark: "SparkSession", place: Place, topic: str
) -> None:
    def decided(lost_marker: LostMarker) -> bool:
        sink = TopicSink(topic=topic, lost_marker=lost_marker, writers=2)
        return opened(spark, place, sink).write(clicks(spark), 7)

    with pytest.raises(MarkerLost, match=r"batch 7 may or may not be in topic .* lost_marker"):
        decided(LostMarker.FAIL)
    assert decided(LostMarker.WRITE)
    assert not decided(LostMarker.FAIL)
    assert users(place, topic) == topics.once_each(range(100))


def test_batch_that_is_skipped_is_the_only_one(
    spark: "SparkSession", place: Place, topic: str
) -> None:
    sink = TopicSink(topic=topic, lost_marker=LostMarker.SKIP, writers=2)
    skipping = opened(spark, place, sink)

    assert not skipping.write(clicks(spark), 7)
    assert users(place, topic).total() == 0
    assert skipping.write(clicks(spark), 8)
    # Nor does another run skip one, or wait for a decision.
    assert opened(spark, place, sink).write(clicks(spark), 9)
    assert users(place, topic).total() == 200


def test_decision_holds_for_a_part_whose_marker_alone_is_lost(
    spark: "SparkSession", place: Place, topic: str
) -> None:
    write_one_part_only(
        spark, place, TopicSink(topic=topic, writers=2), batch_id=6, may_be_first=True
    )
    of_first_part = users(place, topic).total()

    def decided(lost_marker: LostMarker, batch_id: int) -> bool:
        sink = TopicSink(topic=topic, lost_marker=lost_marker, writers=2)
        return opened(spark, place, sink).write(clicks(spark), batch_id)

    with pytest.raises(MarkerLost, match=r"batch 7 may or may not be in topic"):
        decided(LostMarker.FAIL, 7)
    # The first part may be there by then, and is there once.
    decided(LostMarker.SKIP, 7)
    assert users(place, topic).total() == 2 * of_first_part
    assert decided(LostMarker.FAIL, 8)
    assert users(place, topic).total() == 2 * of_first_part + 100


CLICK = {"type": "record", "name": "click"} | {
    "fields": [{"name": "user", "type": "string"}, {"name": "ms", "type": "long"}]
}


@pytest.mark.parametrize(
    ("format", "schema", "value"),
    [
        (RecordFormat.JSON, None, b'{"user":" ann","ms":7}'),
        (RecordFormat.CSV, None, b" ann,7"),
        (RecordFormat.AVRO, json.dumps(CLICK), b"\x08 ann\x0e"),
    ],
    ids=["json", "csv", "avro"],
)
def test_row_is_encoded_as_the_format_says(
    spark: "SparkSession", format: RecordFormat, schema: str | None, value: bytes
) -> None:
    sink = TopicSink(topic="formats", key="upper(user)", format=format, schema=schema)
    rows = spark.createDataFrame([(" ann", 7)], "user string, ms bigint")

    [record] = as_records(rows, sink).collect()

    # Nothing else: a column of headers that nobody set would cost more than all the rest.
    assert record.asDict() == {"key": b" ANN", "value": value}


@pytest.mark.parametrize("delivery", list(Delivery))
def test_keys_values_and_headers_may_be_null(
    spark: "SparkSession", place: Place, topic: str, delivery: Delivery
) -> None:
    sink = TopicSink(topic=topic, key="id", format=RecordFormat.TEXT, headers="h")
    columns = "id int, value string, h array<struct<key:string,value:binary>>"
    rows = [
        (1, "one", [("trace", b"\x00\xff"), (None, b"no key"), None, ("trace", None)]),
        (2, None, None),
        (None, "three", []),
    ]

    opened(spark, place, sink, delivery=delivery).write(spark.createDataFrame(rows, columns), 0)

    found = topics.committed(place.bootstrap, topic)
    assert {(record.key(), record.value()) for record in found} == {
        (b"1", b"one"),
        (b"2", None),
        (None, b"three"),
    }
    assert [record.headers() for record in found if record.headers()] == [
        [("trace", b"\x00\xff"), ("trace", None)]
    ]


def test_key_may_be_nested_and_lies_where_javas_producer_puts_it(
    spark: "SparkSession", place: Place, bootstrap: str
) -> None:
    topics.create(bootstrap, "nested-java", "nested-ours", partitions=5)
    rows = spark.range(20).selectExpr("named_struct('a', id, 'b', 'x') AS k", "id AS n")

    for topic, delivery in zip(("nested-java", "nested-ours"), Delivery, strict=True):
        opened(spark, place, TopicSink(topic=topic, key="k"), delivery=delivery).write(rows, 0)

    placed = [
        {(record.key(), record.partition()) for record in topics.committed(bootstrap, topic)}
        for topic in ("nested-java", "nested-ours")
    ]
    assert placed[0] == placed[1]
    assert (b'{"a":3,"b":"x"}') in {key for key, _ in placed[0]}


def test_dead_letters_are_written_as_they_are(
    spark: "SparkSession", place: Place, topic: str
) -> None:
    columns = "key binary, value binary, headers array<struct<key:string,value:binary>>"
    rows = [(b"\xff", b"{no json", [("klamm.reason", b"why")]), (None, None, [("a", b"1")])]
    letters = spark.createDataFrame(rows, columns)

    for _ in range(2):
        sink = make_dead_letter_sink(place, topic, "dead-letters.input")
        sink.open("query-of-dead-letters")
        sink.write(letters, 0)

    found = {(r.key(), r.value(), *r.headers()) for r in topics.committed(place.bootstrap, topic)}
    assert found == {
        (b"\xff", b"{no json", ("klamm.reason", b"why")),
        (None, None, ("a", b"1")),
    }


@pytest.mark.parametrize(
    ("sink", "words"),
    [
        (TopicSink(topic="wrong", key="nobody"), "the key for topic wrong cannot be computed"),
        (TopicSink(topic="wrong", format=RecordFormat.TEXT), "needs the column value"),
        (TopicSink(topic="wrong", headers="user"), "the headers for topic wrong cannot"),
    ],
)
def test_rows_that_make_no_record_are_one_sentence(
    spark: "SparkSession", sink: TopicSink, words: str
) -> None:
    with pytest.raises(SinkFailed, match=words) as raised:
        as_records(clicks(spark), sink)

    assert "\n" not in str(raised.value)


def test_trouble_in_a_task_reaches_the_driver_as_its_sentence(
    spark: "SparkSession", place: Place, bootstrap: str
) -> None:
    topics.create(bootstrap, "narrow", config={"max.message.bytes": "2000"})
    rows = spark.sql("SELECT repeat('x', 3000) AS value")
    sink = opened(spark, place, TopicSink(topic="narrow", format=RecordFormat.TEXT))

    with pytest.raises(SinkFailed, match=r"^topic narrow could not be written: [^\n]+$"):
        sink.write(rows, 0)


def test_topic_that_is_missing_is_named_before_anything_is_written(
    spark: "SparkSession",
) -> None:
    broker = start_klamm(settings={"auto.create.topics.enable": "false"})
    try:
        place = Place(bootstrap=broker.address, checkpoint="", warehouse="")
        with pytest.raises(SinkFailed, match="topic nowhere does not exist"):
            opened(spark, place, TopicSink(topic="nowhere"))
    finally:
        broker.stop()


def test_tasks_that_are_repeated_write_their_part_once(
    spark: "SparkSession", place: Place, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flaky = partial(FlakyWriter, failures=tmp_path)
    monkeypatch.setattr(topic_module, "PartWriter", flaky)
    sink = opened(spark, place, TopicSink(topic=topic, key="user", writers=2))

    assert sink.write(clicks(spark), 0)

    assert {file.name for file in tmp_path.iterdir()} == {"part-0", "part-1"}
    assert users(place, topic) == topics.once_each(range(100))
