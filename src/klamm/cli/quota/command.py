"""`klamm quota`: the commands. Each is a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.cli.connect import command_group, run_typer
from klamm.cli.quota.list import list_quotas
from klamm.cli.quota.remove import remove
from klamm.cli.quota.set import set_quotas

app = command_group("Say how much users, client ids and addresses may ask for.")
app.command("list")(list_quotas)
app.command("set")(set_quotas)
app.command()(remove)


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "quota", arguments)
