"""The pipeline as one fact: what is read, computed, expected and written, and when."""

# ruff: noqa: RUF009 - `entry` is `dataclasses.field`, not a value computed once

from dataclasses import dataclass

from klamm.pipeline.spec.kinds import ListOf, Options, Text
from klamm.pipeline.spec.model.sinks import SINK, Delivery, Sink, TopicSink
from klamm.pipeline.spec.model.sources import (
    SOURCE,
    TABLE_SECTION,
    WATERMARK,
    Pairs,
    Source,
    Table,
    TopicSource,
    Watermark,
)
from klamm.pipeline.spec.model.steps import PREVIOUS, STEP, Expectation, Function, Step
from klamm.pipeline.spec.model.values import NAME, TOPIC, Trigger, TriggerKind, TriggerWhen
from klamm.pipeline.spec.sections import Section, entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline: sources are read, steps compute, sinks are written."""

    name: str = entry(
        NAME, "The pipeline's name; its progress is kept in the group pipeline.<name>."
    )
    description: str | None = entry(Text(), "A sentence for people.", default=None)
    bootstrap: str | None = entry(
        Text("addresses such as localhost:9092"),
        "The cluster.",
        default=None,
        default_words="what --bootstrap says",
        from_environment=True,
    )
    client: Pairs = entry(
        Options(),
        "Settings for every connection to the cluster, by their names in Kafka or librdkafka "
        "(security.protocol, sasl.mechanism, ssl.ca.location, ...).",
        default=(),
        from_environment=True,
    )
    sources: tuple[Source, ...] = entry(
        ListOf(SOURCE),
        "What is read: source for one, sources for several, each with a name.",
        single="source",
    )
    tables: tuple[Table, ...] = entry(
        ListOf(TABLE_SECTION), "Fixed tables to join with, each with a name.", default=()
    )
    functions: tuple[Function, ...] = entry(
        ListOf(Section(Function, "a function ({name, arrow, returns})")),
        "Python functions that SQL may call.",
        default=(),
    )
    watermark: Watermark | None = entry(
        WATERMARK, "How late records of the one source may come.", default=None
    )
    steps: tuple[Step, ...] = entry(
        ListOf(STEP),
        "What is computed, in this order. Without steps the source is written as it is.",
        default=(),
    )
    expect: tuple[Expectation, ...] = entry(
        ListOf(Section(Expectation, "an expectation ({name, check, otherwise})")),
        "What must be true of every record.",
        default=(),
    )
    dead_letter: str | None = entry(
        TOPIC,
        "The topic for records that cannot be decoded or do not pass, with the reason, the position "
        "and the raw bytes.",
        default=None,
    )
    sinks: tuple[Sink, ...] = entry(
        ListOf(SINK), "What is written: sink for one, sinks for several.", single="sink"
    )
    trigger: Trigger = entry(
        TriggerKind(),
        "When the next records are taken: every so often; once or available_now (all there is, in one or several "
        "batches, then the pipeline ends); or continuous, where Spark offers it.",
        default=Trigger(),
    )
    checkpoint: str | None = entry(
        Text("a path"),
        "Where the progress and state are kept.",
        default=None,
        default_words="a folder of the pipeline's name under klamm's own",
        from_environment=True,
    )
    options: Pairs = entry(
        Options(),
        "Settings of the Spark session, by their names in Spark.",
        default=(),
        from_environment=True,
    )

    @property
    def group(self) -> str:
        """The group under which the processed offsets are committed."""
        return f"pipeline.{self.name}"

    @property
    def uses_cluster(self) -> bool:
        """Whether there is a topic among what it reads and writes."""
        ends = (*self.sources, *self.sinks)
        return self.dead_letter is not None or any(
            isinstance(each, TopicSource | TopicSink) for each in ends
        )

    def view_of(self, index: int) -> str:
        """The view that the step at this place makes."""
        return self.steps[index].view or f"step{index + 1}"

    def input_of(self, index: int) -> str:
        """The view that the step at this place reads (in SQL: under the name previous)."""
        view: str | None = getattr(self.steps[index], "from_view", None)
        return view if view and view.lower() != PREVIOUS else self._result_before(index)

    def input_of_sink(self, sink: Sink) -> str:
        """The view that a sink writes."""
        if sink.from_view and sink.from_view.lower() != PREVIOUS:
            return sink.from_view
        return self._result_before(len(self.steps))

    def _result_before(self, index: int) -> str:
        return self.view_of(index - 1) if index else self.sources[0].name

    def watermark_of(self, source: Source) -> Watermark | None:
        """The watermark of a source, wherever the file gives it."""
        return source.watermark or (self.watermark if len(self.sources) == 1 else None)

    def delivery_of(self, sink: Sink) -> Delivery:
        """What the sink promises: what the file asks for, else the strongest it can give."""
        if self.trigger.when is TriggerWhen.CONTINUOUS:
            return sink.delivery or Delivery.AT_LEAST_ONCE
        return sink.delivery or sink.deliveries[-1]
