"""`klamm acl`: the commands. Each is a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.cli.acl.create import create
from klamm.cli.acl.delete import delete
from klamm.cli.acl.list import list_acls
from klamm.cli.acl.test import explain
from klamm.cli.connect import command_group, run_typer

app = command_group("List, create and delete the rules about who may do what, and try them.")
app.command("list")(list_acls)
app.command()(create)
app.command()(delete)
app.command("test")(explain)


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "acl", arguments)
