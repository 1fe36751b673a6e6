"""`klamm pipeline status`: a run on this machine, its queries and how far they are."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from klamm.cli.connect import Output
from klamm.cli.output import CommandError, Format, Json, Row, format_or_default, show
from klamm.cli.pipeline.targets import NameOrFile, find
from klamm.cli.pipeline.units import age, clock, moment, rate, took
from klamm.pipeline.running import registry
from klamm.pipeline.running.registry import Run


def status(target: NameOrFile, output: Output = None) -> None:
    """Show how a pipeline does.

    Its last run on this machine, its queries and how far it is in each partition.
    """
    found = find(target)
    run = found.run
    if run is None:
        raise CommandError(
            f"pipeline {found.name} did not run on this machine yet",
            hint="klamm pipeline run FILE",
        )
    progress = registry.last_progress(run.name)
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
    start = registry.start_override(run.name)
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
