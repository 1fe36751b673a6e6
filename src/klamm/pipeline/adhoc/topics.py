"""A topic as a source without a pipeline file: what the user did not say is learned from its records. No Spark."""

from __future__ import annotations

from dataclasses import dataclass

from klamm.pipeline.adhoc.inferring import guess
from klamm.pipeline.adhoc.sampling import Looker
from klamm.pipeline.spec import Otherwise, RecordFormat, TopicSource


class SchemaNeeded(Exception):
    """The format does not say which columns there are, and nobody else has. The text is for the user."""


@dataclass(frozen=True, slots=True)
class Found:
    """The source, and a sentence on what was learned; without one, the user had said all."""

    source: TopicSource
    learned: str | None = None
    # Records of the sample that are no JSON objects, among others that are.
    others: int = 0


def source_of(
    looker: Looker, topic: str, *, schema: str | None = None, format: RecordFormat | None = None
) -> Found:
    """The topic with all metadata columns."""
    if format in (RecordFormat.TEXT, RecordFormat.BYTES):
        return Found(_source(topic, format, None))
    if schema is not None:
        return Found(_source(topic, format or RecordFormat.JSON, schema))
    if format in (RecordFormat.CSV, RecordFormat.AVRO):
        raise SchemaNeeded(f"{topic}: the format {format} needs a schema")
    sample = guess(looker.sample(topic))
    if sample.values == 0:
        return Found(
            _source(topic, RecordFormat.TEXT, None),
            f"{topic}: value string (it holds no records to learn a schema from)",
        )
    if sample.schema is None:
        return Found(
            _source(topic, RecordFormat.TEXT, None),
            f"{topic}: value string (its records are no JSON objects)",
        )
    learned = f"{topic}: {sample.schema} (learned from {sample.values} records)"
    source = _source(topic, RecordFormat.JSON, sample.schema)
    return Found(source, learned, others=sample.values - sample.objects)


def _source(topic: str, format: RecordFormat, schema: str | None) -> TopicSource:
    return TopicSource(
        topics=(topic,), format=format, schema=schema, metadata=True, malformed=Otherwise.DROP
    )
