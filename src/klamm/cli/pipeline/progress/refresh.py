"""`klamm pipeline refresh`: rebuild tables beside those that readers see."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from klamm.cli.connect import Output, check_reachable
from klamm.cli.output import Row, UsageError, notice, show
from klamm.cli.pipeline.fetch import bring
from klamm.cli.pipeline.live import view_for
from klamm.cli.pipeline.progress.queries import Choice, Sinks, Views, choices_of, some_of
from klamm.cli.pipeline.progress.replay import parse_when
from klamm.cli.pipeline.run import DEFAULT_MASTER, Wishes, run_watched, told
from klamm.cli.pipeline.targets import (
    Bootstrap,
    Checkpoint,
    Execute,
    Master,
    PipelineFile,
    Quiet,
    Warehouse,
    check_spark_is_installed,
    mistakes,
    read_pipeline,
    target_of,
)
from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.jars import jars_for
from klamm.pipeline.plan import plan_of
from klamm.pipeline.refresh.planning import CannotRefresh, Refresh, plan_refresh
from klamm.pipeline.spec import BadPipeline, ParquetSink, Pipeline, Start, filled

if TYPE_CHECKING:
    from klamm.pipeline.running.supervisor import Notice, Watch


def refresh(
    file: PipelineFile,
    sinks: Sinks = None,
    views: Views = None,
    when: Annotated[
        str,
        typer.Option("--from", metavar="WHEN", help="earliest, 2026-11-15T10:00 or '2 hours ago'."),
    ] = "earliest",
    execute: Execute = False,
    master: Master = DEFAULT_MASTER,
    checkpoint: Checkpoint = None,
    warehouse: Warehouse = None,
    bootstrap: Bootstrap = None,
    quiet: Quiet = False,
    output: Output = None,
) -> None:
    """Rebuild tables beside those that are there.

    The topics are read from the beginning into new tables, which take the place of the old ones when they are whole:
    until then readers see the old. The pipeline may run meanwhile, but not while they take their place. Shows what it
    would do, unless told to --execute.
    """
    pipeline = read_pipeline(file)
    start = parse_when(when, now_ms=time.time_ns() // 1_000_000)
    planned = choices_of(pipeline, ())
    chosen = some_of(planned, sinks, views)
    queries = check_refreshable(pipeline, start, planned if chosen is None else chosen)
    is_done = execute and rebuild(
        file,
        queries,
        start,
        Wishes(
            master=master,
            bootstrap=bootstrap,
            checkpoint=checkpoint,
            warehouse=warehouse,
            quiet=quiet,
        ),
    )
    show(refresh_rows(pipeline, start, queries, done=is_done), output)
    if not execute:
        notice("nothing was changed; --execute does it")
    elif not is_done:
        raise typer.Exit(1)


def check_refreshable(pipeline: Pipeline, start: Start, chosen: Sequence[Choice]) -> list[str]:
    """The names of the queries. Those of dead letters have no table."""
    queries = [each.query for each in chosen if each.view is not None]
    if not queries:
        raise UsageError(
            "dead letters are a topic, and only tables and Parquet folders are rebuilt"
        )
    _planned(pipeline, start, queries)
    return queries


def refresh_rows(
    pipeline: Pipeline, start: Start, queries: Collection[str], *, done: bool
) -> list[Row]:
    return [
        {
            "query": each.query,
            "sink": each.sink.label,
            "built": each.beside.parquet
            if isinstance(each.beside, ParquetSink)
            else each.beside.table,
            "refreshed": done,
        }
        for each in _planned(pipeline, start, queries).rebuilt
    ]


def _planned(pipeline: Pipeline, start: Start, queries: Collection[str]) -> Refresh:
    try:
        return plan_refresh(pipeline, filled(pipeline, os.environ), queries, start)
    except BadPipeline as bad:
        raise mistakes(bad) from bad
    except CannotRefresh as cannot:
        raise UsageError(str(cannot)) from cannot


def rebuild(file: Path, queries: Sequence[str], start: Start, wishes: Wishes) -> bool:
    """Whether the new tables are in place."""
    pipeline = read_pipeline(file)
    check_spark_is_installed()
    from klamm.pipeline.refresh import walking

    target = target_of(pipeline)
    bootstrap = target.bootstrap(wishes.bootstrap)
    if pipeline.uses_cluster:
        check_reachable(bootstrap)
    wanted = walking.Wanted(
        pipeline=pipeline,
        queries=queries,
        start=start,
        bootstrap=bootstrap,
        master=wishes.master,
        checkpoint=target.checkpoint(wishes.checkpoint),
        warehouse=wishes.warehouse,
        folder=file.absolute().parent,
        file=str(file.absolute()),
    )
    is_done = False

    def work(watch: Watch, stop: threading.Event, notice: Notice) -> None:
        nonlocal is_done
        is_done = walking.refresh(wanted, watch=watch, stop=stop, notice=notice)

    bring(jars_for(plan_of(pipeline).uses), quiet=wishes.quiet)
    try:
        # What is printed at the end is for programs, too.
        with view_for(None, quiet=wishes.quiet or not sys.stdout.isatty()) as view:
            run_watched(pipeline.name, view, None, work)
    except PipelineFailed as failure:
        raise told(pipeline.name, failure) from failure
    return is_done
