"""`klamm cluster`: the commands. Each is a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

from klamm.cli.cluster.create import create
from klamm.cli.cluster.destroy import destroy
from klamm.cli.cluster.features import features
from klamm.cli.cluster.health import health
from klamm.cli.cluster.info import info
from klamm.cli.cluster.metadata.command import app as metadata
from klamm.cli.cluster.moves.decommission import decommission
from klamm.cli.cluster.moves.elect_leaders import elect_leaders
from klamm.cli.cluster.moves.reassign import reassign
from klamm.cli.cluster.start import start
from klamm.cli.cluster.stop import stop
from klamm.cli.connect import command_group, run_typer

app = command_group("Run a cluster on this machine; look after any cluster.")
app.command()(create)
app.command()(start)
app.command()(stop)
app.command()(destroy)
app.command()(info)
app.command()(health)
app.command()(features)
app.command("elect-leaders")(elect_leaders)
app.command()(reassign)
app.command()(decommission)
app.add_typer(metadata, name="metadata")


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "cluster", arguments)
