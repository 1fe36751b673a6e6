"""`klamm token`: the commands. Each is a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.cli.connect import command_group, run_typer
from klamm.cli.token.create import create
from klamm.cli.token.expire import expire
from klamm.cli.token.list import list_tokens
from klamm.cli.token.renew import renew

app = command_group("Create, list, renew and expire delegation tokens.")
app.command("list")(list_tokens)
app.command()(create)
app.command()(renew)
app.command()(expire)


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "token", arguments)
