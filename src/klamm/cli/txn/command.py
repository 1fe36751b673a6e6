"""`klamm txn`: the commands. Each is a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.cli.connect import command_group, run_typer
from klamm.cli.txn.abort import abort
from klamm.cli.txn.describe import describe
from klamm.cli.txn.list import list_transactions

app = command_group("List, describe and abort transactions.")
app.command("list")(list_transactions)
app.command()(describe)
app.command()(abort)


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "txn", arguments)
