"""`klamm cluster destroy`: a cluster on this machine and all its data."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.cli.cluster.arguments import Directory, directory_or_default
from klamm.cli.cluster.local import LocalCluster
from klamm.cli.connect import Output
from klamm.cli.output import CommandError, show


def destroy(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without a question.")] = False,
    directory: Directory = None,
    output: Output = None,
) -> None:
    """End the nodes of a cluster on this machine and delete its data."""
    cluster = LocalCluster.open(directory_or_default(directory))
    if not yes and not _is_sure(cluster):
        raise CommandError(f"{cluster.directory} stays; --yes deletes it")
    cluster.destroy()
    show([{"cluster_id": cluster.cluster_id, "destroyed": True}], output)


def _is_sure(cluster: LocalCluster) -> bool:
    try:
        return typer.confirm(f"Delete {cluster.directory} and all the data in it?", err=True)
    except typer.Abort:
        return False
