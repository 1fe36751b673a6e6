"""What a refresh builds: a pipeline of the same sources and steps whose sinks are other tables. No Spark."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from klamm.pipeline.plan import plan_of
from klamm.pipeline.spec import (
    JdbcSource,
    ParquetSink,
    Pipeline,
    Sink,
    Start,
    StateStep,
    TableSink,
    TopicSource,
)

_BESIDE = "__refresh"


class CannotRefresh(Exception):
    """The text says why, and what else there is."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A sink, and the one beside it that is built."""

    query: str
    sink: TableSink | ParquetSink
    beside: TableSink | ParquetSink


@dataclass(frozen=True, slots=True)
class Refresh:
    # As it stands in the file: variables are not filled in.
    pipeline: Pipeline
    queries: tuple[str, ...]
    rebuilt: tuple[Rebuilt, ...]


def plan_refresh(
    pipeline: Pipeline, full: Pipeline, queries: Collection[str], start: Start
) -> Refresh:
    """`full` is the pipeline with its variables filled in. Raises CannotRefresh."""
    _check_sources(pipeline)
    chosen = [query for query in plan_of(full).queries if query.name in queries]
    query_of = {planned.label: query.name for query in chosen for planned in query.sinks}
    sinks, rebuilt = [], []
    for raw, sink in zip(pipeline.sinks, full.sinks, strict=True):
        if sink.label in query_of:
            sinks.append(_beside(raw, sink.label))
            target = _beside(sink, sink.label)
            assert isinstance(sink, TableSink | ParquetSink)
            rebuilt.append(Rebuilt(query_of[sink.label], sink, target))
    sources = tuple(
        replace(source, start=start) if isinstance(source, TopicSource) else source
        for source in pipeline.sources
    )
    built = replace(
        pipeline,
        name=f"{pipeline.name}.refresh",
        sources=sources,
        sinks=tuple(sinks),
        checkpoint=None,
    )
    return Refresh(built, tuple(query.name for query in chosen), tuple(rebuilt))


def _beside(sink: Sink, label: str) -> TableSink | ParquetSink:
    # The name keeps the query's, and with it the marks of what it has written.
    match sink:
        case TableSink():
            return replace(sink, table=f"{sink.table}{_BESIDE}", name=label)
        case ParquetSink():
            return replace(sink, parquet=f"{sink.parquet.rstrip('/')}{_BESIDE}", name=label)
        case _:
            raise CannotRefresh(
                f"{label} cannot be rebuilt unseen: only tables and Parquet folders have another that takes their place; "
                f"`klamm pipeline replay FILE --sink {label} --from earliest` writes it again"
            )


def _check_sources(pipeline: Pipeline) -> None:
    if databases := [s.name for s in pipeline.sources if isinstance(s, JdbcSource)]:
        raise CannotRefresh(
            f"{databases[0]} is a database, whose rows have landed beside the checkpoint and are not landed twice: "
            "`klamm pipeline reset` starts over"
        )
    if any(isinstance(step, StateStep) for step in pipeline.steps):
        raise CannotRefresh(
            "a step with `state` keeps where its files lie, so its checkpoint cannot take another's place: "
            "`klamm pipeline replay` writes the sinks again"
        )
