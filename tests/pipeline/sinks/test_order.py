"""Records of a key leave in the order in which they came: with several tasks that read and several that write, when
Spark's sorts spill, and when a batch is repeated."""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from confluent_kafka import Producer
from pyspark.sql import functions as f

from klamm.pipeline.place import Place
from klamm.pipeline.quality.retrying import Wanted, retry_dead_letters
from klamm.pipeline.running.queries import start
from klamm.pipeline.sinks import topic as topic_module
from klamm.pipeline.sinks.ends import in_parts
from klamm.pipeline.sinks.making import make_dead_letter_sink, make_sink
from klamm.pipeline.sinks.records import as_records
from klamm.pipeline.spec import Delivery, TopicSink, from_dict
from pipeline.sinks import topics
from pipeline.sinks.flaky_tasks import FlakyWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNT = 3_000
KEYS = 10

pytestmark = pytest.mark.usefixtures("spilling")


@pytest.fixture
def place(bootstrap: str, tmp_path: Path, warehouse: Path) -> Place:
    return Place(
        bootstrap=bootstrap, checkpoint=str(tmp_path / "checkpoint"), warehouse=str(warehouse)
    )


def numbered(spark: "SparkSession", tasks: int = 4) -> "DataFrame":
    """The numbers 0, 1, 2, ... of ten keys, read by so many tasks, each a piece of them."""
    rows = spark.range(0, COUNT, 1, tasks)
    return rows.selectExpr(f"concat('key-', id % {KEYS}) AS k", "id AS n")


def by_key(records: Iterable[tuple[bytes, int]]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = defaultdict(list)
    for key, number in records:
        found[key].append(number)
    return found


def in_order(count: int = COUNT) -> dict[bytes, list[int]]:
    return {f"key-{key}".encode(): list(range(key, count, KEYS)) for key in range(KEYS)}


def read(bootstrap: str, topic: str) -> dict[bytes, list[int]]:
    """The numbers per key, as a reader finds them in the key's partition."""
    return by_key(
        (message.key() or b"", int((message.value() or b"").split(b":")[-1].strip(b"}")))
        for message in topics.committed(bootstrap, topic)
    )


@pytest.mark.parametrize("writers", [1, 3])
def test_parts_have_the_order_of_the_batch_however_it_was_split(
    spark: "SparkSession", writers: int
) -> None:
    def written(tasks: int) -> list[tuple[int, bytes, bytes]]:
        records = as_records(numbered(spark, tasks), TopicSink(topic="t", key="k"))
        parts = in_parts(records, writers).withColumn("part", f.spark_partition_id())
        rows = parts.where("NOT is_end").collect()
        return [(row["part"], bytes(row["key"]), bytes(row["value"])) for row in rows]

    first, again = written(tasks=4), written(tasks=7)

    assert by_key((key, int(value[:-1].split(b":")[-1])) for _, key, value in first) == in_order()
    assert again == first


def test_tasks_that_are_repeated_write_in_order(
    spark: "SparkSession", place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics.create(place.bootstrap, "order-repeated")
    monkeypatch.setattr(topic_module, "PartWriter", partial(FlakyWriter, failures=tmp_path))
    sink = TopicSink(topic="order-repeated", key="k", writers=2)
    made = make_sink(spark, sink, place, Delivery.EXACTLY_ONCE)
    made.open("order-repeated")

    made.write(numbered(spark), 0)

    assert {file.name for file in tmp_path.iterdir()} == {"part-0", "part-1"}
    assert read(place.bootstrap, "order-repeated") == in_order()


def test_pipeline_keeps_the_order_of_the_source_partitions(
    spark: "SparkSession", place: Place
) -> None:
    """Two partitions read by six tasks, two batches, three writers, and a step that keeps no offset."""
    topics.create(place.bootstrap, "order-in", "order-out")
    fill(place.bootstrap, "order-in")
    pipeline = from_dict(
        {
            "name": "order",
            "source": {
                "topic": "order-in",
                "schema": "k string, n int, rest string",
                "max_per_batch": COUNT * 2 // 3,
                "options": {"minPartitions": "6"},
            },
            "steps": [{"sql": "SELECT k, n FROM input WHERE rest <> 'left out'"}],
            "sink": {"topic": "order-out", "key": "k", "writers": 3},
        }
    )

    [running] = start(spark, pipeline, place, once=True)
    running.wait()

    assert read(place.bootstrap, "order-out") == in_order()


def fill(bootstrap: str, topic: str) -> None:
    """Each key in a partition of its own choice, so that offsets order its records."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    for number in range(COUNT):
        key = number % KEYS
        value = f'{{"k": "key-{key}", "rest": "x", "n": {number}}}'
        producer.produce(topic, value.encode(), partition=key % 2)
    assert producer.flush(topics.SECONDS) == 0


def test_dead_letters_are_sent_again_in_the_order_in_which_they_came(
    spark: "SparkSession", place: Place
) -> None:
    topics.create(place.bootstrap, "order-again", "order-dead")
    facts = {"klamm.pipeline": "order", "klamm.topic": "order-again", "klamm.partition": "1"}
    headers = (f"struct('{name}', CAST('{value}' AS BINARY))" for name, value in facts.items())
    # Those of two keys come without one.
    letters = numbered(spark).selectExpr(
        f"CAST(IF(n % {KEYS} < 2, NULL, k) AS BINARY) AS key",
        "CAST(CAST(n AS STRING) AS BINARY) AS value",
        f"CAST(array({', '.join(headers)}) AS array<struct<key:string,value:binary>>) AS headers",
    )
    sink = make_dead_letter_sink(place, "order-dead", "dead-letters.input")
    sink.open("order-dead")
    sink.write(letters, 0)

    retry_dead_letters(place, Wanted(pipeline="order", topic="order-dead"), execute=True)

    found = read(place.bootstrap, "order-again")
    assert found.pop(b"") == [number for number in range(COUNT) if number % KEYS < 2]
    assert found == {key: numbers for key, numbers in in_order().items() if key in found}
    assert len(found) == KEYS - 2
