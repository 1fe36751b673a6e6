"""`klamm cluster metadata`: the commands. Each is a file of its own."""

from __future__ import annotations

from klamm.cli.cluster.metadata.dump import dump
from klamm.cli.connect import command_group

app = command_group("The log of the controllers: topics, configs, brokers, and who leads what.")
app.command()(dump)


@app.callback()
def metadata() -> None:
    """So that the one command has a name."""
