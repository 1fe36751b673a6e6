"""`klamm pipeline`: the commands and their options. Thin: parse, call, print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.connect import (
    DAY_SECONDS,
    DEFAULT_BOOTSTRAP,
    INT64_MAX,
    Output,
    Properties,
    a_number,
    command_group,
    run_typer,
)
from klamm.cli.connect import Bootstrap as AnyBootstrap
from klamm.cli.doctor import Status
from klamm.cli.output import CommandError, Row, flush, show, write
from klamm.cli.pipeline import doctor as checks
from klamm.cli.pipeline.fetching import bring, rows_of
from klamm.cli.pipeline.letters import retry
from klamm.cli.pipeline.looking import run_rows, show_lag, show_status
from klamm.cli.pipeline.planning import show_plan
from klamm.cli.pipeline.progress.commands import accept, refresh, replay, reset
from klamm.cli.pipeline.running import DEFAULT_MASTER, Wishes, run_file
from klamm.cli.pipeline.stopping import how_it_ended, stop_run
from klamm.cli.pipeline.targets import (
    Bootstrap,
    Checkpoint,
    Execute,
    Master,
    NameOrFile,
    PipelineFile,
    Quiet,
    Warehouse,
    find,
)
from klamm.cli.pipeline.writing import DEFAULT_NAME, schema_text, validate_files, write_starter
from klamm.pipeline.jars import LOCK
from klamm.pipeline.running import runs

app = command_group("Write, check, run and watch pipelines on Spark.")


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "pipeline", arguments)


@app.command()
def init(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Its name.")] = DEFAULT_NAME,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="The file to write [default: NAME.yaml].")
    ] = None,
) -> None:
    """Write a commented pipeline file to start from."""
    write_starter(name, file)


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Pipeline files.")],
    output: Output = None,
) -> None:
    """Check pipeline files, without Spark.

    Prints every problem with its place; exit code 2 if there is one.
    """
    if not validate_files(files, output):
        raise typer.Exit(2)


@app.command()
def plan(
    file: PipelineFile,
    schemas: Annotated[
        bool, typer.Option("--schemas", help="Ask Spark for the columns of every view.")
    ] = False,
    bootstrap: Bootstrap = None,
    output: Output = None,
) -> None:
    """Show what a pipeline reads, computes and writes."""
    show_plan(file, schemas=schemas, bootstrap=bootstrap, output=output)


@app.command()
def schema() -> None:
    """Print the JSON Schema of pipeline files, for editors."""
    write(schema_text().encode())
    flush()


@app.command("run")
def run_command(
    file: PipelineFile,
    once: Annotated[bool, typer.Option("--once", help="Take what is there now and end.")] = False,
    master: Master = DEFAULT_MASTER,
    bootstrap: Bootstrap = None,
    checkpoint: Checkpoint = None,
    warehouse: Warehouse = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics-port", metavar="[HOST:]PORT", help="Serve metrics for Prometheus here."
        ),
    ] = None,
    quiet: Quiet = False,
    output: Output = None,
) -> None:
    """Run a pipeline until Ctrl-C, and show how it does.

    On a terminal in place, in a pipe one line per batch, with -o json one report per line.
    """
    run_file(
        file,
        Wishes(
            once=once,
            master=master,
            bootstrap=bootstrap,
            checkpoint=checkpoint,
            warehouse=warehouse,
            metrics=metrics,
            output=output,
            quiet=quiet,
        ),
    )


@app.command("list")
def list_runs(output: Output = None) -> None:
    """List the pipelines that run or ran on this machine."""
    show(run_rows(), output)


@app.command()
def status(target: NameOrFile, output: Output = None) -> None:
    """Show how a pipeline does.

    Its last run on this machine, its queries and how far it is in each partition.
    """
    show_status(find(target), output)


@app.command()
def lag(
    target: NameOrFile,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")
    ] = False,
    interval: Annotated[
        float,
        typer.Option(
            "--interval",
            "-i",
            min=0.1,
            max=DAY_SECONDS,
            callback=a_number,
            help="Seconds between two looks.",
        ),
    ] = 2.0,
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Show how much a pipeline has still to read.

    From the offsets of its group, as its cluster knows them.
    """
    show_lag(
        find(target),
        bootstrap=bootstrap,
        properties=properties,
        watch=watch,
        interval=interval,
        output=output,
    )


@app.command()
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
    if ended.state is not runs.State.STOPPED:
        raise typer.Exit(1)


app.command()(replay)
app.command()(reset)
app.command()(accept)
app.command()(refresh)


@app.command()
def doctor(
    jars_dir: Annotated[
        bool, typer.Option("--jars-dir", help="Print only where the verified jars are.")
    ] = False,
    bootstrap: AnyBootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Check what pipelines need on this machine.

    Exit code 1 if something will not work.
    """
    if jars_dir:
        write(f"{checks.verified_jars_directory()}\n".encode())
        flush()
        return
    found = checks.findings(bootstrap, properties or ())
    show((finding._asdict() for finding in found), output)
    if any(finding.status is Status.FAIL for finding in found):
        raise typer.Exit(1)


@app.command()
def fetch(output: Output = None) -> None:
    """Bring all the jars that Spark may need.

    For images, and before the network is gone: a run brings what it lacks by itself.
    """
    show(rows_of(LOCK, bring(LOCK)), output)


@app.command("retry-dead-letters")
def retry_dead_letters(
    target: NameOrFile,
    check: Annotated[
        str | None,
        typer.Option(
            "--check", metavar="NAME", help="Only those of one expectation, or malformed."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, max=INT64_MAX, help="At most so many records."),
    ] = None,
    execute: Execute = False,
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Send bad records again to where they came from."""
    retry(
        find(target),
        check=check,
        limit=limit,
        execute=execute,
        bootstrap=bootstrap,
        properties=properties,
        output=output,
    )
