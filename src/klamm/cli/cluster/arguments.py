"""What the commands for a cluster on this machine have in common."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.cluster.local import LocalCluster, default_directory
from klamm.cli.output import Format, Row, format_or_default, show

Directory = Annotated[
    Path | None,
    typer.Option(
        "--dir",
        "-d",
        help="Where the cluster is. [default: klamm-cluster beside the data of `klamm serve`]",
    ),
]


def directory_or_default(directory: Path | None) -> Path:
    return (directory or default_directory(os.environ)).absolute()


def show_nodes(cluster: LocalCluster, output: Format | None) -> None:
    nodes: list[Row] = [
        {
            "id": node.id,
            "roles": {"x": "broker,controller", "b": "broker", "c": "controller"}[node.role],
            "address": node.address if node.role != "c" else node.controller_address,
            "pid": node.pid,
        }
        for node in cluster.nodes
    ]
    if format_or_default(output) is Format.JSON:
        facts: Row = {"cluster_id": cluster.cluster_id, "bootstrap": cluster.bootstrap}
        show([{**facts, "directory": str(cluster.directory), "nodes": nodes}], Format.JSON)
        return
    show(nodes, Format.TABLE, title=f"Cluster {cluster.cluster_id} in {cluster.directory}")
    print(f"\nbootstrap.servers={cluster.bootstrap}")
