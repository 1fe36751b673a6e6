"""`klamm certs`: the commands. Each is a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.cli.certs.create import create
from klamm.cli.connect import command_group, run_typer

app = command_group("Make certificates for a development cluster.")
app.command()(create)


@app.callback()
def certs() -> None:
    """With a callback typer keeps the name of the only command."""


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "certs", arguments)
