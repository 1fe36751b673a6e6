"""`klamm pipeline`: the commands. Each is a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.cli.connect import command_group, run_typer
from klamm.cli.pipeline.doctor import doctor
from klamm.cli.pipeline.fetch import fetch
from klamm.cli.pipeline.init import init
from klamm.cli.pipeline.plan import plan
from klamm.cli.pipeline.progress.accept import accept
from klamm.cli.pipeline.progress.refresh import refresh
from klamm.cli.pipeline.progress.replay import replay
from klamm.cli.pipeline.progress.reset import reset
from klamm.cli.pipeline.retry_dead_letters import retry_dead_letters
from klamm.cli.pipeline.run import run_command
from klamm.cli.pipeline.runs.lag import lag
from klamm.cli.pipeline.runs.list import list_runs
from klamm.cli.pipeline.runs.status import status
from klamm.cli.pipeline.runs.stop import stop
from klamm.cli.pipeline.schema import schema
from klamm.cli.pipeline.validate import validate

app = command_group("Write, check, run and watch pipelines on Spark.")
app.command()(init)
app.command()(validate)
app.command()(plan)
app.command()(schema)
app.command("run")(run_command)
app.command("list")(list_runs)
app.command()(status)
app.command()(lag)
app.command()(stop)
app.command()(replay)
app.command()(reset)
app.command()(accept)
app.command()(refresh)
app.command()(doctor)
app.command()(fetch)
app.command("retry-dead-letters")(retry_dead_letters)


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "pipeline", arguments)
