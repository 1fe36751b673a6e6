"""`klamm cluster start`: the nodes of a cluster on this machine that do not run."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.cli.cluster.arguments import Directory, directory_or_default, show_nodes
from klamm.cli.cluster.local import LocalCluster, chosen
from klamm.cli.connect import INT32_MAX, Output

Nodes = Annotated[
    list[int] | None,
    typer.Argument(min=0, max=INT32_MAX, help="Numbers of nodes. [default: all]"),
]


def start(nodes: Nodes = None, directory: Directory = None, output: Output = None) -> None:
    """Start the nodes of a cluster on this machine."""
    cluster = LocalCluster.open(directory_or_default(directory))
    cluster.start(chosen(cluster, nodes))
    show_nodes(cluster, output)
