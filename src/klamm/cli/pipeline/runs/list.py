"""`klamm pipeline list`: what runs or ran on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from klamm.cli.connect import Output
from klamm.cli.output import Row, show
from klamm.cli.pipeline.units import moment
from klamm.pipeline.running import registry
from klamm.pipeline.running.registry import Run


def list_runs(output: Output = None) -> None:
    """List the pipelines that run or ran on this machine."""
    show([_row(run, registry.last_progress(run.name)) for run in registry.all_runs()], output)


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
