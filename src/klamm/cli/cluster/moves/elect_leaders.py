"""`klamm cluster elect-leaders`: give partitions back to the replica that should lead them, or to any that lives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.cli.cluster.moves.partitions import METAVAR, named_partitions
from klamm.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, Cluster, Output, Properties
from klamm.cli.output import CommandError, Row, UsageError, complain, notice, show

if TYPE_CHECKING:
    from klamm.client.cluster import Cluster as Connections


def elect_leaders(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar=METAVAR, help="Which partitions. [default: all that need it]"),
    ] = None,
    unclean: Annotated[
        bool,
        typer.Option(
            "--unclean",
            help="Where nobody in sync lives, let any replica lead. What it does not have is lost.",
        ),
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Let the preferred replicas lead their partitions again."""
    if unclean and not names:
        raise UsageError(
            "--unclean may lose records, so the partitions must be named",
            hint="`klamm cluster health` shows those without leader",
        )
    cluster = Cluster.at(bootstrap, properties)
    places = list(named_partitions(cluster, names)) if names else None

    async def elect(connections: Connections) -> dict[TopicPartition, ApiError | None]:
        from klamm.client.admin.partitions import PartitionAdmin

        return await PartitionAdmin(connections).elect_leaders(places, unclean=unclean)

    results = cluster.talk("no leader was elected", elect)
    failures = {place: error for place, error in results.items() if error and not _is_fine(error)}
    rows: list[Row] = [
        {"topic": place.topic, "partition": place.partition, "elected": error is None}
        for place, error in sorted(results.items())
        if place not in failures
    ]
    show(rows, output)
    if not results:
        notice("every partition is led by its preferred replica already")
    for place, error in sorted(failures.items()):
        complain(
            CommandError(
                f"{place} has no new leader",
                why=f"{error.message or error.code.text} ({error.code.name})",
                hint="`klamm cluster health` shows which brokers are alive",
            )
        )
    if failures:
        raise typer.Exit(1)


def _is_fine(error: ApiError) -> bool:
    return error.code == ErrorCode.ELECTION_NOT_NEEDED
