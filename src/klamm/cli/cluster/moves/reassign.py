"""`klamm cluster reassign`: move partitions to other brokers, or take a move back."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.cli.cluster.moves.partitions import (
    METAVAR,
    named_partitions,
    parse_number,
    parse_partition,
)
from klamm.cli.cluster.moves.placement import spread
from klamm.cli.cluster.progress import ProgressLine
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    MOST_REPLICAS,
    Bootstrap,
    Cluster,
    Output,
    Properties,
)
from klamm.cli.output import CommandError, Row, UsageError, complain, notice, show

if TYPE_CHECKING:
    from klamm.client.admin.partitions import Reassignment
    from klamm.client.cluster import Cluster as Connections

_POLL_SECONDS = 0.2


def reassign(
    name: Annotated[str, typer.Argument(metavar=METAVAR, help="One partition, or all of a topic.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="ID,...",
            help="The brokers, the leader first; of a whole topic each of them leads in turn.",
        ),
    ] = None,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Take a move back that is under way.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Until everything is moved.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Move the replicas of partitions to other brokers."""
    if (to is None) is not cancel:
        raise UsageError("where to?", hint="either --to 1,2,3 or --cancel")
    brokers = None if to is None else parse_brokers(to)
    _, one = parse_partition(name)
    cluster = Cluster.at(bootstrap, properties)
    wanted: dict[TopicPartition, tuple[int, ...] | None] = {
        place: brokers and (brokers if one is not None else spread(brokers, place.partition))
        for place in named_partitions(cluster, [name])
    }
    results = ask_for(cluster, wanted)
    failures = {place: error for place, error in results.items() if error and not _is_fine(error)}
    begun = [place for place in wanted if not results.get(place)]
    for place, error in failures.items():
        complain(refusal(place, error))
    if wait:
        _wait(cluster, begun, name)
    word = "moved" if wait else "moving"
    rows: list[Row] = [
        {
            "topic": place.topic,
            "partition": place.partition,
            **({"cancelled": place in begun} if cancel else {"replicas": replicas, word: True}),
        }
        for place, replicas in wanted.items()
        if place not in failures
    ]
    show(rows, output)
    if failures:
        raise typer.Exit(1)
    if begun and not wait and not cancel:
        notice("`klamm cluster health` shows what is on the way; --cancel takes it back")


def parse_brokers(text: str) -> tuple[int, ...]:
    hint = "--to 1,2,3, each broker once"
    parts = text.split(",")
    what = f"--to {text[:60]!r} is no list of brokers"
    if len(parts) > MOST_REPLICAS:
        raise UsageError(what, hint=hint)
    brokers = tuple(parse_number(part.strip(), what, hint=hint) for part in parts)
    if len(set(brokers)) < len(brokers):
        raise UsageError(what, hint=hint)
    return brokers


def ask_for(
    cluster: Cluster, wanted: Mapping[TopicPartition, Sequence[int] | None]
) -> dict[TopicPartition, ApiError | None]:
    async def move(connections: Connections) -> dict[TopicPartition, ApiError | None]:
        from klamm.client.admin.partitions import PartitionAdmin

        return await PartitionAdmin(connections).reassign(wanted)

    return cluster.talk("nothing was moved", move)


def refusal(place: TopicPartition, error: ApiError) -> CommandError:
    return CommandError(
        f"{place} was not moved",
        why=f"{error.message or error.code.text} ({error.code.name})",
        hint="`klamm cluster health` shows which brokers are alive",
    )


def _wait(cluster: Cluster, places: Collection[TopicPartition], name: str) -> None:
    try:
        with ProgressLine() as line:
            while left := _moves(cluster).keys() & set(places):
                line.count(len(places) - len(left), len(places), "partitions moved")
                time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        notice(f"the move goes on; `klamm cluster reassign {name} --cancel` takes it back")
        raise typer.Exit(1) from None


def _moves(cluster: Cluster) -> dict[TopicPartition, Reassignment]:
    async def look(connections: Connections) -> dict[TopicPartition, Reassignment]:
        from klamm.client.admin.partitions import PartitionAdmin

        return await PartitionAdmin(connections).reassignments()

    return cluster.talk("nobody says which moves are on the way", look)


def _is_fine(error: ApiError) -> bool:
    """There is nothing to take back."""
    return error.code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
