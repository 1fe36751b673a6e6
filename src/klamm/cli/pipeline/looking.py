"""`klamm pipeline list`, `status` and `lag`: what runs on this machine and how far it is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from klamm.cli.group.lag import lag as show_group_lag
from klamm.cli.output import CommandError, Format, Json, Row, format_or_default, show
from klamm.cli.pipeline.targets import Target
from klamm.cli.pipeline.words import age, clock, moment, rate, took
from klamm.pipeline.running import runs
from klamm.pipeline.running.runs import Run


def run_rows() -> list[Row]:
    return [_row(run, runs.last_progress(run.name)) for run in runs.all_runs()]


def _row(run: Run, progress: Mapping[str, Any] | None) -> Row:
    return {
        "pipeline": run.name,
        "state": run.state.value,
        "pid": run.pid if run.is_alive else None,
        "started": moment(run.started_ms),
        "ended": moment(run.ended_ms),
        # Of one that has ended nobody asks any more; `lag` asks the cluster.
        "lag": progress["lag"] if progress and run.is_alive else None,
        "bootstrap": run.bootstrap,
        "file": run.file,
    }


def show_status(target: Target, output: Format | None) -> None:
    run = target.run
    if run is None:
        raise CommandError(
            f"pipeline {target.name} did not run on this machine yet",
            hint="klamm pipeline run FILE",
        )
    progress = runs.last_progress(run.name)
    if format_or_default(output) is Format.JSON:
        show([{**_facts(run), "progress": progress}], Format.JSON)
        return
    show([{"what": what, "value": value} for what, value in _facts(run).items()], Format.TABLE)
    queries: Sequence[Mapping[str, Any]] = progress["queries"] if progress else ()
    if queries:
        # Of a run that has ended these are the last that was known.
        title = "\nQueries" if run.is_alive else "\nQueries, as last seen"
        show([_query_row(query) for query in queries], Format.TABLE, title=title)
        partitions = [_partition_row(q["name"], e) for q in queries for e in q["partitions"]]
        if partitions:
            show(partitions, Format.TABLE, title="\nPartitions")


def _facts(run: Run) -> dict[str, Json]:
    start = runs.start_override(run.name)
    facts: dict[str, Json] = {
        "pipeline": run.name,
        "state": run.state.value,
        "pid": run.pid if run.is_alive else None,
        "started": moment(run.started_ms),
        "ended": moment(run.ended_ms),
        "runs_for": age(time.time_ns() // 1_000_000 - run.started_ms) if run.is_alive else None,
        "error": run.error,
        "file": run.file,
        "bootstrap": run.bootstrap,
        "master": run.master,
        "group": f"pipeline.{run.name}",
        "checkpoint": run.checkpoint,
        "warehouse": run.warehouse,
        "metrics_port": run.metrics_port,
        "next_start": None if start is None else str(start),
    }
    return {what: value for what, value in facts.items() if value is not None}


def _query_row(query: Mapping[str, Any]) -> Row:
    return {
        "query": query["name"],
        "in": rate(query["input_per_second"]),
        "out": rate(query["output_per_second"]),
        "batches": query["batches"],
        "records": query["input_records"],
        "took": took(query["batch_ms"]),
        "lag": query["lag"],
        "watermark": clock(query["watermark_ms"]),
        "state_rows": query["state_rows"],
        "late_rows": query.get("late_rows", 0),
        "dropped": sum(query["dropped"].values()),
        "dead_letters": query["dead_letters"],
        "unknown": sum(query.get("unknown", {}).values()),
    }


def _partition_row(query: str, partition: Mapping[str, Any]) -> Row:
    return {"query": query, **partition}


def show_lag(
    target: Target,
    *,
    bootstrap: str | None,
    properties: Sequence[str] | None,
    watch: bool,
    interval: float,
    output: Format | None,
) -> None:
    """As the cluster knows it: it stands there also when the pipeline runs elsewhere, or not at all."""
    cluster = target.cluster(bootstrap, properties)
    try:
        show_group_lag(
            names=[target.group],
            watch=watch,
            interval=interval,
            bootstrap=cluster.bootstrap,
            properties=[f"{key}={value}" for key, value in cluster.properties.items()],
            output=output,
        )
    except CommandError as failure:
        if not failure.what.startswith("there is no group"):
            raise
        raise CommandError(
            f"pipeline {target.name} has not processed anything yet",
            why=f"{cluster.bootstrap} knows no group {target.group}",
            hint="klamm pipeline run FILE; -b names another cluster",
        ) from failure
