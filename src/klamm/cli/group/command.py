"""`klamm group`: the commands. Each is a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.cli.connect import command_group, run_typer
from klamm.cli.group.delete import delete
from klamm.cli.group.describe import describe
from klamm.cli.group.lag import lag
from klamm.cli.group.list import list_groups
from klamm.cli.group.remove_member import remove_member
from klamm.cli.group.reset_offsets import reset_offsets

app = command_group("List, describe and delete groups, watch their lag, move their offsets.")
app.command("list")(list_groups)
app.command()(describe)
app.command()(lag)
app.command("reset-offsets")(reset_offsets)
app.command()(delete)
app.command("remove-member")(remove_member)


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "group", arguments)
