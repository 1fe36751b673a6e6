"""`klamm user`: the commands. Each is a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.cli.connect import command_group, run_typer
from klamm.cli.user.create import create
from klamm.cli.user.delete import delete
from klamm.cli.user.list import list_users

app = command_group("Create, list and delete users that log in by SCRAM.")
app.command("list")(list_users)
app.command()(create)
app.command()(delete)


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "user", arguments)
