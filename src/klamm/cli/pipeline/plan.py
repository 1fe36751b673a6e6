"""`klamm pipeline plan`: what a pipeline reads, computes and writes, drawn as a small tree. Spark only if asked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.connect import Output
from klamm.cli.output import (
    CommandError,
    Format,
    Json,
    Row,
    UsageError,
    flush,
    format_or_default,
    notice,
    show,
    write,
)
from klamm.cli.pipeline.fetch import bring
from klamm.cli.pipeline.targets import (
    Bootstrap,
    PipelineFile,
    check_spark_is_installed,
    mistakes,
    read_pipeline,
    target_of,
)
from klamm.pipeline.failures.trouble import USAGE, trouble_of
from klamm.pipeline.identity.keeping import LocalFiles
from klamm.pipeline.jars import jars_for
from klamm.pipeline.partitions import LEAST, SHUFFLE_PARTITIONS, kept_partitions, may_have_state
from klamm.pipeline.place import Place
from klamm.pipeline.plan import Plan, plan_of
from klamm.pipeline.running import registry
from klamm.pipeline.running.checkpoint import local_path
from klamm.pipeline.spec import (
    BadPipeline,
    CatalogTable,
    ConsoleSink,
    Delivery,
    FileSource,
    FromOffsets,
    JdbcSink,
    JdbcSource,
    ParquetSink,
    Pipeline,
    Sink,
    Source,
    SqlStep,
    Step,
    Table,
    TableSink,
    TopicSource,
    filled,
)

_SQL_SHOWN = 70


def plan(
    file: PipelineFile,
    schemas: Annotated[
        bool, typer.Option("--schemas", help="Ask Spark for the columns of every view.")
    ] = False,
    bootstrap: Bootstrap = None,
    output: Output = None,
) -> None:
    """Show what a pipeline reads, computes and writes."""
    pipeline = read_pipeline(file)
    plan = plan_of(pipeline)
    known = _schemas_of_spark(pipeline, plan, file, bootstrap) if schemas else _schemas(pipeline)
    if format_or_default(output) is Format.JSON:
        show([_facts(pipeline, plan, known)], Format.JSON)
        return
    write("".join(f"{line}\n" for line in _page(pipeline, plan, known)).encode())
    flush()


def _schemas(pipeline: Pipeline) -> dict[str, str]:
    """The columns of sources and tables, by view, as far as the file tells."""
    known = {}
    for each in (*pipeline.sources, *pipeline.tables):
        columns = None if isinstance(each, CatalogTable) else each.columns()
        if columns:
            known[each.name] = ", ".join(f"{column.name} {column.type}" for column in columns)
    return known


def _schemas_of_spark(
    pipeline: Pipeline, plan: Plan, file: Path, bootstrap: str | None
) -> dict[str, str]:
    """Of every view, steps as well: Spark reads the SQL as it would for a run, and runs nothing."""
    check_spark_is_installed()
    target = target_of(pipeline)
    bring(jars_for(plan.uses))
    notice("Spark starts to tell the schemas (some seconds)")
    from klamm.pipeline.session import SessionSettings, a_session
    from klamm.pipeline.steps.views import make_views

    place = Place(
        bootstrap=target.bootstrap(bootstrap),
        client=target.client,
        checkpoint=target.checkpoint(),
        warehouse=registry.warehouse(),
    )
    settings = SessionSettings(
        name=pipeline.name,
        master="local[1]",
        uses=plan.uses,
        warehouse=place.warehouse,
        # What is wrong is told in one sentence; Java's stack traces beside it would bury it.
        log_level="FATAL",
        options=dict(pipeline.options),
    )
    try:
        complete = filled(pipeline, os.environ)
        with a_session(settings) as session:
            views = make_views(session, complete, place, folder=file.absolute().parent)
            return {name: _ddl(views.rows(name).schema) for name in _views(pipeline)}
    except BadPipeline as bad:
        raise mistakes(bad) from bad
    except Exception as error:
        trouble = trouble_of(error)
        kind = UsageError if trouble.exit_code == USAGE else CommandError
        raise kind(f"pipeline {pipeline.name} cannot be planned", why=trouble.sentence) from error


def _ddl(schema: object) -> str:
    fields = getattr(schema, "fields", ())
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)


def _views(pipeline: Pipeline) -> list[str]:
    named = [each.name for each in (*pipeline.sources, *pipeline.tables)]
    return named + [pipeline.view_of(index) for index in range(len(pipeline.steps))]


def _page(pipeline: Pipeline, plan: Plan, known: Mapping[str, str]) -> Iterator[str]:
    yield pipeline.name + (f": {pipeline.description}" if pipeline.description else "")
    yield from _tree(pipeline, plan, known)
    yield ""
    yield "queries (each with a checkpoint of its own):"
    for query in plan.queries:
        sinks = ", ".join(f"{each.label} {each.delivery}" for each in query.sinks)
        yield f"  {query.name}: {query.output} rows of {query.view} to {sinks}"
    for letters in plan.dead_letters:
        yield f"  {letters.name}: bad records of {letters.source} to topic {letters.topic}"
    for source, queries in plan.reads.items():
        if len(queries) > 1:
            times = "twice" if len(queries) == 2 else f"{len(queries)} times"
            yield f"  {source} is read and decoded {times}, once by each of {', '.join(queries)}"
    trigger = pipeline.trigger
    interval = f" {trigger.interval}" if trigger.interval is not None else ""
    yield f"trigger: {trigger.when}{interval}"
    yield from _spread(pipeline, plan)
    yield f"progress: group {pipeline.group}, checkpoint {target_of(pipeline).checkpoint()}"


def _spread(pipeline: Pipeline, plan: Plan) -> Iterator[str]:
    """Over how many partitions state is spread: worth a thought before the first run, which fixes it."""
    if not may_have_state(pipeline):
        return
    given = dict(pipeline.options).get(SHUFFLE_PARTITIONS)
    how = f"{given} (options)" if given else f"{LEAST} here, or one for each core of a cluster"
    yield f"state: spread over {how}; a query keeps the number of its first batch as long as its checkpoint"
    for name, number in _kept(pipeline, plan).items():
        yield f"  {name}: {number}, kept by its checkpoint"


def _kept(pipeline: Pipeline, plan: Plan) -> dict[str, int]:
    """Of those queries that have run, as far as their checkpoints are on this machine."""
    folder = local_path(target_of(pipeline).checkpoint())
    if folder is None:
        return {}
    found = {query.name: kept_partitions(LocalFiles(folder), query.name) for query in plan.queries}
    return {name: number for name, number in found.items() if number is not None}


def _tree(pipeline: Pipeline, plan: Plan, known: Mapping[str, str]) -> Iterator[str]:
    """Each source and table with what flows out of it. What has two inputs is drawn whole below the first only."""
    labels = dict(_labels(pipeline))
    below: dict[str, list[str]] = {}
    spelt = {name.lower(): name for name in labels}
    for flow in plan.flows:
        below.setdefault(flow.start.lower(), []).append(flow.end)
    drawn: set[str] = set()

    def draw(name: str, indent: str, *, is_last: bool) -> Iterator[str]:
        branch, under = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        name = spelt.get(name.lower(), name)
        again = name in drawn and name.lower() in below
        yield f"{indent}{branch}{labels.get(name, name)}{' (see above)' if again else ''}"
        if again:
            return
        drawn.add(name)
        ends = below.get(name.lower(), [])
        if name in known:
            bar = "│    " if ends else "     "
            yield f"{indent}{under}{bar}{known[name]}"
        for index, end in enumerate(ends):
            yield from draw(end, indent + under, is_last=index == len(ends) - 1)

    roots = [each.name for each in (*pipeline.sources, *pipeline.tables)]
    for index, root in enumerate(roots):
        yield from draw(root, "", is_last=index == len(roots) - 1)


def _labels(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    for source in pipeline.sources:
        watermark = pipeline.watermark_of(source)
        late = f", watermark {watermark.delay} on {watermark.column}" if watermark else ""
        yield source.name, f"{source.name}: {_origin(source)}{late}"
    for table in pipeline.tables:
        yield table.name, f"{table.name}: {_origin(table)}"
    for index, step in enumerate(pipeline.steps):
        view = pipeline.view_of(index)
        yield view, f"{view}: {_step(step)}"
    for sink in pipeline.sinks:
        details = (*_details(sink), _promise(pipeline.delivery_of(sink)))
        yield sink.label, f"{_destination(sink)} ({', '.join(details)})"


def _origin(source: Source | Table) -> str:
    match source:
        case TopicSource():
            what = f"topics like {source.pattern}" if source.pattern else _topics(source.topics)
            start = "given offsets" if isinstance(source.start, FromOffsets) else str(source.start)
            return f"{what} ({source.format}, from {start})"
        case FileSource():
            return f"files {source.files} ({source.format})"
        case JdbcSource():
            growing = f", new rows by {source.incremental}" if source.incremental else ""
            return f"database {source.table or 'query'}{growing}"
        case CatalogTable():
            return f"table {source.table} ({source.format})"


def _topics(topics: tuple[str, ...]) -> str:
    return f"topic{'' if len(topics) == 1 else 's'} {', '.join(topics)}"


def _step(step: Step) -> str:
    if isinstance(step, SqlStep):
        sql = " ".join(step.sql.split())
        return sql if len(sql) <= _SQL_SHOWN else f"{sql[: _SQL_SHOWN - 3]}..."
    kind = step.LEADS[0]
    value = getattr(step, kind)
    return f"{kind} {', '.join(value) if isinstance(value, tuple) else value}"


def _destination(sink: Sink) -> str:
    match sink:
        case JdbcSink():
            return f"database table {sink.table}"
        case TableSink():
            return f"table {sink.table}"
        case ParquetSink():
            return f"parquet {sink.parquet}"
        case ConsoleSink():
            return "console"
        case _:
            return f"topic {sink.topic}"


def _details(sink: Sink) -> tuple[str, ...]:
    """How it writes, where there is a choice."""
    return tuple(str(getattr(sink, name)) for name in ("format", "mode") if hasattr(sink, name))


def _promise(delivery: Delivery) -> str:
    return delivery.replace("_", " ")


def _facts(pipeline: Pipeline, plan: Plan, known: Mapping[str, str]) -> Row:
    queries: list[Json] = [
        {
            "name": query.name,
            "view": query.view,
            "output": query.output.value,
            "sources": list(query.sources),
            "sinks": [{"name": e.label, "delivery": e.delivery.value} for e in query.sinks],
        }
        for query in plan.queries
    ]
    return {
        "pipeline": pipeline.name,
        "group": pipeline.group,
        "checkpoint": target_of(pipeline).checkpoint(),
        "flows": [{"from": flow.start, "to": flow.end} for flow in plan.flows],
        "schemas": dict(known),
        "queries": queries,
        "dead_letters": [
            {"name": e.name, "source": e.source, "topic": e.topic} for e in plan.dead_letters
        ],
        "reads": {source: list(queries) for source, queries in plan.reads.items()},
        "shuffle_partitions": dict(_kept(pipeline, plan)),
        "jars": [use.value for use in plan.uses],
    }
