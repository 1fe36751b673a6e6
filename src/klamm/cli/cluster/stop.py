"""`klamm cluster stop`: nodes of a cluster on this machine, in good order or as a power failure would."""

from __future__ import annotations

from signal import SIGKILL
from typing import Annotated

import typer

from klamm.cli.cluster.arguments import Directory, directory_or_default, show_nodes
from klamm.cli.cluster.local import LocalCluster, chosen
from klamm.cli.cluster.start import Nodes
from klamm.cli.connect import Output


def stop(
    nodes: Nodes = None,
    kill: Annotated[
        bool, typer.Option("--kill", help="Without a warning, to see what the others do.")
    ] = False,
    directory: Directory = None,
    output: Output = None,
) -> None:
    """Stop the nodes of a cluster on this machine."""
    cluster = LocalCluster.open(directory_or_default(directory))
    if kill:
        for node in chosen(cluster, nodes):
            cluster.signal(node, SIGKILL)
    else:
        cluster.stop(chosen(cluster, nodes))
    show_nodes(cluster, output)
