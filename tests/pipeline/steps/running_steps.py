"""Runs the steps of a pipeline over what is in its topics, into a list."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from klamm.pipeline.place import Place
from klamm.pipeline.spec import OutputMode, Pipeline, Trigger, TriggerWhen, from_dict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECONDS = 20.0
ALL_THERE_IS = Trigger(TriggerWhen.AVAILABLE_NOW, None)


class Collected:
    """A sink that keeps the rows."""

    def __init__(self) -> None:
        self.rows: list[tuple[object, ...]] = []

    def open(self, query_id: str) -> None: ...

    def write(self, batch: "DataFrame", batch_id: int) -> bool:
        self.rows += [tuple(row) for row in batch.collect()]
        return True

    def close(self) -> None: ...


def fill(bootstrap: str, topic: str, *values: object) -> None:
    """A topic of one partition with these values as JSON: what comes later is later."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(SECONDS)
    append(bootstrap, topic, *values)


def append(bootstrap: str, topic: str, *values: object) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in values:
        producer.produce(topic, value if isinstance(value, bytes) else json.dumps(value).encode())
    assert producer.flush(SECONDS) == 0


def a_pipeline(
    name: str, schema: str, steps: Sequence[dict[str, object]], **more: object
) -> Pipeline:
    """It reads the topic of its own name; its sink is for the model's sake alone."""
    source: dict[str, object] = {"topic": name, "schema": schema}
    source |= more.pop("source", {})  # type: ignore[arg-type]
    sources = more.pop("sources", None)
    read = {"sources": sources} if sources else {"source": source}
    facts = {"name": name, **read, "steps": list(steps), "sinks": [{"console": True}], **more}
    return from_dict(facts)  # type: ignore[arg-type]


def rows_of(
    spark: "SparkSession",
    pipeline: Pipeline,
    bootstrap: str,
    folder: Path,
    *,
    output: OutputMode = OutputMode.APPEND,
    view: str | None = None,
) -> list[tuple[object, ...]]:
    """The result of the last step, or of the one that makes this view."""
    from klamm.pipeline.running.query import start_batches
    from klamm.pipeline.steps.state import end_with_the_data
    from klamm.pipeline.steps.views import make_views

    place = Place(bootstrap=bootstrap, checkpoint=str(folder / "ck"), warehouse=str(folder / "wh"))
    views = make_views(spark.newSession(), pipeline, place, folder=folder)
    end_with_the_data(views.spark, pipeline)
    found = Collected()
    view = view or pipeline.view_of(len(pipeline.steps) - 1)
    running = start_batches(
        views.rows(view),
        [found],
        name=f"{pipeline.name}.{view}",
        checkpoint=f"{place.checkpoint}/{view}",
        output=output,
        trigger=ALL_THERE_IS,
    )
    running.wait()
    return sorted(found.rows, key=str)
