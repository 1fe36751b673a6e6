"""`klamm cluster health`: whether everybody is there and every partition has all its replicas."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from klamm.base.ids import TopicPartition
from klamm.cli.cluster.progress import ProgressLine
from klamm.cli.cluster.state import ClusterState
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
)
from klamm.cli.output import CommandError, Format, Row, UsageError, format_or_default, show
from klamm.cli.watch import Interval

if TYPE_CHECKING:
    from klamm.client.admin.cluster import QuorumReplica
    from klamm.client.metadata import Node

# Voters fetch all the time, and wait half a second at most.
_SILENT_MS = 3_000
# How many partitions a sentence names.
_NAMED = 3


def health(
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Look again and again, until it is healthy.")
    ] = False,
    interval: Interval = 1.0,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Show brokers, controllers and partitions that are in trouble; exit code 1 if there are any."""
    shape = format_or_default(output)
    try:
        if watch:
            found = _until_healthy(bootstrap, properties, shape, interval)
        else:
            found = Health(ClusterState.of(Cluster.at(bootstrap, properties)))
    except KeyboardInterrupt:
        # Who ends a watch knows that it was not healthy yet, and so should a script.
        raise typer.Exit(1) from None
    _show(found, shape)
    if not found.is_healthy:
        raise typer.Exit(1)


def _until_healthy(
    bootstrap: str, properties: list[str] | None, shape: Format, interval: float
) -> Health:
    with ProgressLine() as line:
        while True:
            try:
                found = Health(ClusterState.of(Cluster.at(bootstrap, properties)))
            except UsageError:
                raise
            except CommandError as failure:
                # All brokers are down, or not up yet: that is worth waiting for, too.
                line.say(f"{failure.what}: {failure.why}")
            else:
                if found.is_healthy:
                    return found
                line.say("; ".join(found.problems))
                if shape is Format.JSON:
                    _show(found, shape)
            time.sleep(interval)


@dataclass(frozen=True, slots=True)
class Health:
    """What the state of a cluster means. A move under way is told, but is no trouble."""

    state: ClusterState

    @property
    def is_healthy(self) -> bool:
        return not self.problems

    @property
    def problems(self) -> list[str]:
        """Each a sentence; the worst first."""
        state = self.state
        found = [state.trouble] if state.trouble else []
        if not state.alive:
            found.append("no broker is alive")
        if self.without_leader:
            found.append(f"without leader: {_some(self.without_leader)}")
        if self.under_min_isr:
            found.append(f"under min ISR: {_some(self.under_min_isr)}")
        if self.under_replicated:
            found.append(f"under-replicated: {_some(self.under_replicated)}")
        found += [f"broker {node.node_id} is fenced" for node in state.fenced]
        voters = state.quorum.voters if state.quorum else ()
        found += [
            f"controller {each.node_id} does not follow" for each in voters if self.is_silent(each)
        ]
        return found

    @property
    def without_leader(self) -> list[TopicPartition]:
        return [place for place, each in self.state.partitions.items() if each.leader is None]

    @property
    def under_replicated(self) -> list[TopicPartition]:
        """Replicas that a move adds have not been there, so they are not missing."""
        found = []
        for place, each in self.state.partitions.items():
            move = self.state.moves.get(place)
            adding = set(move.adding) if move else set()
            if not set(each.replicas) - adding <= set(each.isr):
                found.append(place)
        return found

    @property
    def under_min_isr(self) -> list[TopicPartition]:
        """Nobody wants more in-sync replicas than there are replicas, as Kafka has it."""
        return [
            place
            for place, each in self.state.partitions.items()
            if len(each.isr) < min(self.state.min_isr.get(place.topic, 1), len(each.replicas))
        ]

    def lag(self, voter: QuorumReplica) -> int | None:
        """Records of the metadata log that it does not have; None if it was never heard."""
        quorum = self.state.quorum
        assert quorum is not None
        if voter.end_offset < 0:
            return None
        return max(0, max(each.end_offset for each in quorum.voters) - voter.end_offset)

    def silent_ms(self, voter: QuorumReplica) -> int | None:
        """Against the leader's own time: the clock here may be another."""
        quorum = self.state.quorum
        assert quorum is not None
        if voter.last_fetch < 0:
            return None
        return max(0, max(each.last_fetch for each in quorum.voters) - voter.last_fetch)

    def is_silent(self, voter: QuorumReplica) -> bool:
        silent_ms = self.silent_ms(voter)
        return silent_ms is None or silent_ms > _SILENT_MS


def _some(places: list[TopicPartition]) -> str:
    named = ", ".join(map(str, places[:_NAMED]))
    more = len(places) - _NAMED
    return f"{named} and {more} more" if more > 0 else named


def _show(health: Health, shape: Format) -> None:
    state, quorum = health.state, health.state.quorum
    brokers = sorted([*_brokers(state.alive, "alive"), *_brokers(state.fenced, "fenced")], key=_id)
    voters: list[Row] = [
        {
            "id": each.node_id,
            "leader": quorum is not None and each.node_id == quorum.leader_id,
            "lag": health.lag(each),
            "silent_ms": health.silent_ms(each),
            "follows": not health.is_silent(each),
        }
        for each in (quorum.voters if quorum else ())
    ]
    facts: dict[str, bool | int | None] = {
        "healthy": health.is_healthy,
        "controller": quorum.leader_id if quorum else None,
        "epoch": quorum.epoch if quorum else None,
        "partitions": len(state.partitions),
    }
    troubled = {
        "without_leader": health.without_leader,
        "under_replicated": health.under_replicated,
        "under_min_isr": health.under_min_isr,
    }
    moves: list[Row] = [
        {"partition": str(place), **{name: list(ids) for name, ids in move._asdict().items()}}
        for place, move in sorted(state.moves.items())
    ]
    if shape is Format.JSON:
        lists: Row = {name: list(map(str, places)) for name, places in troubled.items()}
        about: Row = {"problems": health.problems, "brokers": brokers, "voters": voters}
        show([{**facts, **about, **lists, "reassignments": moves}], Format.JSON)
        return
    counts = {name: len(places) for name, places in troubled.items()}
    show([{**facts, **counts, "reassignments": len(moves)}], Format.TABLE)
    show(brokers, Format.TABLE, title="\nBrokers")
    show(voters, Format.TABLE, title="\nControllers")
    if moves:
        show(moves, Format.TABLE, title="\nReassignments")
    if health.problems:
        show([{"problem": each} for each in health.problems], Format.TABLE, title="\nProblems")


def _brokers(nodes: Iterable[Node], state: str) -> list[Row]:
    return [
        {"id": node.node_id, "address": str(node.address), "rack": node.rack, "state": state}
        for node in nodes
    ]


def _id(row: Row) -> int:
    number = row["id"]
    assert isinstance(number, int)
    return number
