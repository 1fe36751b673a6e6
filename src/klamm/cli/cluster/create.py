"""`klamm cluster create`: several brokers on this machine that are one cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.cli.cluster.arguments import Directory, directory_or_default, show_nodes
from klamm.cli.cluster.local import APART, MOST_NODES, LocalCluster
from klamm.cli.cluster.ports import free_ports
from klamm.cli.connect import Output, key_values

# Each node takes a port for clients, and one above it for controllers.
HIGHEST_PORT = 65535 - APART - MOST_NODES


def create(
    brokers: Annotated[
        int, typer.Option("--brokers", "-b", min=1, max=MOST_NODES, help="How many.")
    ] = 3,
    controllers: Annotated[
        int,
        typer.Option(
            min=0,
            max=5,
            help="Nodes that are controllers only; without any the first three brokers are controllers, too.",
        ),
    ] = 0,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            "-p",
            min=0,
            max=HIGHEST_PORT,
            help="Of the first node; the others follow. 0 takes free ones.",
        ),
    ] = 9092,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="KEY=VALUE", help="Of all nodes; repeatable."),
    ] = None,
    only: Annotated[bool, typer.Option("--no-start", help="Write its files only.")] = False,
    directory: Directory = None,
    output: Output = None,
) -> None:
    """Make a cluster of several nodes on this machine, and start it."""
    voters = min(3, brokers) if not controllers else 0
    roles = "x" * voters + "b" * (brokers - voters) + "c" * controllers
    cluster = LocalCluster.create(
        directory_or_default(directory),
        roles=roles,
        port=port or free_ports(len(roles)),
        settings=key_values(settings, option="--set"),
    )
    if not only:
        cluster.start()
    show_nodes(cluster, output)
