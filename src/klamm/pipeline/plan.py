"""What a pipeline will run, as facts: its queries with their sinks, and which view flows into what. No Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from klamm.pipeline.jars import Use
from klamm.pipeline.quality.policy import policy_of
from klamm.pipeline.spec import (
    PREVIOUS,
    CatalogTable,
    Delivery,
    JdbcSink,
    JdbcSource,
    OutputMode,
    Pipeline,
    RecordFormat,
    Sink,
    SqlStep,
    Step,
    TableFormat,
    TableSink,
    TopicSink,
    TopicSource,
    TriggerWhen,
)
from klamm.pipeline.spec.checks.sql import reads_of

# A label cannot hold it, so a query's name says which sinks it has.
_BETWEEN_LABELS = "+"
# File systems take names of 255 bytes; Spark adds nothing to this one.
_LONGEST_NAME = 200
_TABLE_USES = {TableFormat.ICEBERG: Use.ICEBERG, TableFormat.DELTA: Use.DELTA}


@dataclass(frozen=True, slots=True)
class PlannedSink:
    sink: Sink
    delivery: Delivery

    @property
    def label(self) -> str:
        return self.sink.label


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """One streaming query: a view and the sinks that take its batches, one after the other."""

    name: str
    view: str
    output: OutputMode
    sinks: tuple[PlannedSink, ...]
    # The sources from which its rows come, as far as the file tells: a Python function may read others.
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The query that reads a source again and keeps the records that do not pass."""

    name: str
    source: str
    topic: str


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows go from a view into another view, or into the sink of that label."""

    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Plan:
    queries: tuple[PlannedQuery, ...]
    dead_letters: tuple[DeadLetters, ...]
    flows: tuple[Flow, ...]
    # What the session has to load.
    uses: tuple[Use, ...]

    @property
    def reads(self) -> dict[str, tuple[str, ...]]:
        """By source, the queries that read and decode it: each does that by itself, at its own pace."""
        pairs = [(source, query.name) for query in self.queries for source in query.sources]
        pairs += [(letters.source, letters.name) for letters in self.dead_letters]
        found: dict[str, tuple[str, ...]] = {}
        for source, query in pairs:
            found[source] = (*found.get(source, ()), query)
        return found


def plan_of(pipeline: Pipeline) -> Plan:
    return Plan(
        queries=tuple(_queries(pipeline)),
        dead_letters=tuple(_dead_letters(pipeline)),
        flows=tuple(_flows(pipeline)),
        uses=tuple(use for use in Use if use in set(_uses(pipeline))),
    )


def dead_letters_name(source: str) -> str:
    return f"dead-letters.{source}"


def labels_in(query_name: str) -> frozenset[str]:
    """The sinks that the query of this name has, or had."""
    return frozenset(query_name.split(_BETWEEN_LABELS))


def _queries(pipeline: Pipeline) -> Iterator[PlannedQuery]:
    # Spark's own sinks, which alone can write continuously, take a query each.
    is_continuous = pipeline.trigger.when is TriggerWhen.CONTINUOUS
    sharing: dict[tuple[str, OutputMode, str], list[PlannedSink]] = {}
    views: dict[str, str] = {}
    for sink in pipeline.sinks:
        view = pipeline.input_of_sink(sink)
        # SQL does not tell Stats from stats, and two spellings are one view.
        view = views.setdefault(view.lower(), view)
        alone = sink.label if is_continuous else ""
        planned = PlannedSink(sink, pipeline.delivery_of(sink))
        sharing.setdefault((view, sink.output, alone), []).append(planned)
    for (view, output, _), sinks in sharing.items():
        name = _name([each.label for each in sinks])
        sources = tuple(_sources_of(pipeline, view))
        yield PlannedQuery(name, view, output, tuple(sinks), sources)


def _sources_of(pipeline: Pipeline, view: str) -> Iterator[str]:
    above = {view.lower()}
    # Steps read only what stands before them, so one look from the last to the first finds all.
    for flow in reversed(list(_flows(pipeline))):
        if flow.end.lower() in above:
            above.add(flow.start.lower())
    yield from (each.name for each in pipeline.sources if each.name.lower() in above)


def _name(labels: list[str]) -> str:
    """The same in whatever order the sinks stand in the file: it is the name of the query's checkpoint."""
    name = _BETWEEN_LABELS.join(sorted(labels))
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name[: _LONGEST_NAME - 17]}-{digest}"


def _dead_letters(pipeline: Pipeline) -> Iterator[DeadLetters]:
    for source in pipeline.sources:
        if pipeline.dead_letter is not None and policy_of(pipeline, source).keeps_dead_letters:
            name = dead_letters_name(source.name)
            yield DeadLetters(name, source.name, pipeline.dead_letter)


def _flows(pipeline: Pipeline) -> Iterator[Flow]:
    """In the order of the steps; those into sinks come last."""
    views = [each.name for each in (*pipeline.sources, *pipeline.tables)]
    for index, step in enumerate(pipeline.steps):
        for view in _read_by(pipeline, index, step, views):
            yield Flow(view, pipeline.view_of(index))
        views.append(pipeline.view_of(index))
    for sink in pipeline.sinks:
        yield Flow(pipeline.input_of_sink(sink), sink.label)


def _read_by(pipeline: Pipeline, index: int, step: Step, views: list[str]) -> list[str]:
    if not isinstance(step, SqlStep):
        return [pipeline.input_of(index)]
    reads = reads_of(step.sql)
    read = [view for view in views if reads.view(view)]
    if reads.view(PREVIOUS) and pipeline.input_of(index) not in read:
        read.append(pipeline.input_of(index))
    return read


def _uses(pipeline: Pipeline) -> Iterator[Use]:
    # The connector is always there: dead letters and the group need the cluster, and users try things out.
    yield Use.TOPICS
    for sink in pipeline.sinks:
        if isinstance(sink, TableSink):
            yield _TABLE_USES[sink.format]
    for table in pipeline.tables:
        if isinstance(table, CatalogTable):
            yield _TABLE_USES[table.format]
    for each in (*pipeline.sources, *pipeline.sinks):
        if isinstance(each, TopicSource | TopicSink) and each.format is RecordFormat.AVRO:
            yield Use.AVRO
    for database in (*pipeline.sources, *pipeline.tables, *pipeline.sinks):
        if isinstance(database, JdbcSource | JdbcSink) and _is_postgresql(database.jdbc):
            yield Use.POSTGRESQL


def _is_postgresql(address: str) -> bool:
    return address.startswith("jdbc:postgresql:")
