"""`klamm pipeline stop`: asks the process of a run to end, and waits until it has."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from klamm.cli.connect import DAY_SECONDS, Output, a_number
from klamm.cli.output import CommandError, Row, show
from klamm.cli.pipeline.targets import NameOrFile, find
from klamm.pipeline.running import registry
from klamm.pipeline.running.registry import Run, State


def stop(
    target: NameOrFile,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            min=0,
            max=DAY_SECONDS,
            callback=a_number,
            help="Seconds to wait for its end.",
        ),
    ] = 60.0,
    output: Output = None,
) -> None:
    """Stop a pipeline that runs on this machine."""
    found = find(target)
    if found.run is None:
        raise CommandError(f"pipeline {found.name} does not run on this machine")
    ended = stop_run(found.run, within_seconds=timeout)
    row: Row = {"pipeline": ended.name, "pid": ended.pid, "result": how_it_ended(ended)}
    show([row], output)
    if ended.state is not registry.State.STOPPED:
        raise typer.Exit(1)


def stop_run(run: Run, *, within_seconds: float) -> Run:
    """How the run ended. The signal goes to that process or to none: its number may be another's by now."""
    with _process(run) as process:
        signal.pidfd_send_signal(process, signal.SIGTERM)
        poll = select.poll()
        poll.register(process, select.POLLIN)
        if not poll.poll(within_seconds * 1000):
            raise CommandError(
                f"pipeline {run.name} (pid {run.pid}) still finishes its batch after "
                f"{within_seconds:.0f} s",
                hint=f"wait, or end it with `kill -9 {run.pid}`: the next run repeats the batch",
            )
    ended = registry.look(run.name)
    return ended or run


def how_it_ended(run: Run) -> str:
    match run.state:
        case State.STOPPED:
            return "stopped"
        case State.FAILED:
            return f"failed: {run.error}"
        case _:
            return "ended without a word; the next run goes on from the checkpoint"


@contextmanager
def _process(run: Run) -> Iterator[int]:
    if not run.is_alive:
        raise CommandError(
            f"pipeline {run.name} does not run",
            why=f"its last run {_past(run)}",
            hint="`klamm pipeline list` shows what runs",
        )
    try:
        process = os.pidfd_open(run.pid)
    except ProcessLookupError as error:
        raise CommandError(f"pipeline {run.name} ended just now") from error
    try:
        # Looked at again: from here on the number cannot become another's.
        if not registry.is_process(run.pid, run.process_birth):
            raise CommandError(f"pipeline {run.name} ended just now")
        yield process
    except PermissionError as error:
        raise CommandError(
            f"pipeline {run.name} belongs to another user", why=f"pid {run.pid}"
        ) from error
    finally:
        os.close(process)


def _past(run: Run) -> str:
    return {State.STOPPED: "was stopped", State.FAILED: f"failed ({run.error})"}.get(
        run.state, "died"
    )
