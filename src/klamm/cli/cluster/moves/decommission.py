"""`klamm cluster decommission`: take everything off a broker, wait until it is stopped, and forget it.

It may be ended and begun again at any point: each look at the cluster says what is left to do.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from klamm.base.ids import TopicPartition
from klamm.cli.cluster.moves import placement
from klamm.cli.cluster.moves.reassign import ask_for, refusal
from klamm.cli.cluster.progress import ProgressLine
from klamm.cli.cluster.state import ClusterState
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    INT32_MAX,
    Bootstrap,
    Cluster,
    Output,
    Properties,
)
from klamm.cli.output import CommandError, notice, show

if TYPE_CHECKING:
    from klamm.client.cluster import Cluster as Connections

_POLL_SECONDS = 0.2
# The broker that we ask may hear a moment later of what the controller has done.
_ASK_AGAIN_SECONDS = 5.0


def decommission(
    broker_id: Annotated[
        int, typer.Argument(metavar="ID", min=0, max=INT32_MAX, help="The broker, by number.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without a question.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Move all replicas of a broker to the others, wait until it is stopped, and unregister it."""
    cluster = Cluster.at(bootstrap, properties)
    state = ClusterState.of(cluster)
    _check(state, broker_id)
    if not yes and not _is_sure(broker_id, len(_held(state, broker_id))):
        raise CommandError(f"broker {broker_id} stays; --yes takes everything off it")
    # Of those that stay, so that there is somebody to ask when it is gone.
    others = ",".join(str(node.address) for node in state.alive if node.node_id != broker_id)
    leaving = Leaving(replace(cluster, bootstrap=others), broker_id)
    try:
        with ProgressLine() as line:
            while not leaving.step(line):
                time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        notice("moves that were begun go on; the same command takes it up again")
        raise typer.Exit(1) from None
    show([{"broker": broker_id, "moved": leaving.total, "unregistered": True}], output)


@dataclass(slots=True)
class Leaving:
    cluster: Cluster
    broker_id: int
    # The most partitions that it was seen with.
    total: int = 0
    _asked_at: dict[TopicPartition, float] = field(default_factory=dict)
    _was_told: bool = False

    def step(self, line: ProgressLine) -> bool:
        """One look, and whatever is to be done next. True when it is forgotten."""
        state = ClusterState.of(self.cluster)
        held = _held(state, self.broker_id)
        self.total = max(self.total, len(held))
        if held:
            self._move(state)
            line.count(self.total - len(held), self.total, "partitions moved")
            return False
        if any(node.node_id == self.broker_id for node in state.alive):
            self._tell_once(state, line)
            line.say(f"waiting until broker {self.broker_id} is stopped")
            return False
        if any(node.node_id == self.broker_id for node in state.fenced):
            self._unregister()
        return True

    def _move(self, state: ClusterState) -> None:
        """What is not yet on its way."""
        if state.trouble:
            # Without a controller nothing moves; there will be one again.
            return
        now = time.monotonic()
        due = {
            place: replicas
            for place, replicas in plan_for(state, self.broker_id).items()
            if now >= self._asked_at.get(place, now - _ASK_AGAIN_SECONDS) + _ASK_AGAIN_SECONDS
        }
        if not due:
            return
        for place, error in ask_for(self.cluster, due).items():
            if error is not None:
                raise refusal(place, error)
        self._asked_at |= dict.fromkeys(due, now)

    def _tell_once(self, state: ClusterState, line: ProgressLine) -> None:
        if self._was_told:
            return
        self._was_told = True
        line.say("")
        notice(
            f"broker {self.broker_id} holds nothing any more: stop it now, "
            f"on this machine with `klamm cluster stop {self.broker_id}`, elsewhere with SIGTERM"
        )
        if state.quorum and any(each.node_id == self.broker_id for each in state.quorum.voters):
            notice(f"node {self.broker_id} is a controller as well, and stays a voter")

    def _unregister(self) -> None:
        async def forget(connections: Connections) -> None:
            from klamm.client.admin.cluster import ClusterAdmin

            await ClusterAdmin(connections).unregister(self.broker_id)

        self.cluster.talk(f"broker {self.broker_id} was not unregistered", forget)


def plan_for(state: ClusterState, broker_id: int) -> dict[TopicPartition, tuple[int, ...]]:
    """Of partitions that no move takes off it already. Counted with where the moves under way will end."""
    targets = {
        place: _after_its_move(state, place, partition.replicas)
        for place, partition in state.partitions.items()
    }
    racks = {node.node_id: node.rack for node in state.alive if node.node_id != broker_id}
    try:
        return placement.without(broker_id, targets, racks)
    except placement.NoPlace as error:
        topic = error.partition.topic
        raise CommandError(
            f"broker {broker_id} cannot go",
            why=str(error),
            hint=f"start another broker, or give {topic} fewer replicas with "
            f"`klamm cluster reassign {topic} --to ...`",
        ) from error


def _after_its_move(
    state: ClusterState, place: TopicPartition, replicas: tuple[int, ...]
) -> tuple[int, ...]:
    move = state.moves.get(place)
    return tuple(each for each in replicas if move is None or each not in move.removing)


def _held(state: ClusterState, broker_id: int) -> list[TopicPartition]:
    return [
        place for place, partition in state.partitions.items() if broker_id in partition.replicas
    ]


def _check(state: ClusterState, broker_id: int) -> None:
    if not any(node.node_id == broker_id for node in (*state.alive, *state.fenced)):
        raise CommandError(
            f"there is no broker {broker_id}", hint="`klamm cluster info` shows who is there"
        )
    what = f"broker {broker_id} cannot go"
    if not any(node.node_id != broker_id for node in state.alive):
        raise CommandError(what, why="no other broker is alive")
    if state.trouble:
        raise CommandError(what, why=state.trouble, hint="`klamm cluster health` shows who is left")
    for place in _held(state, broker_id):
        if state.partitions[place].leader is None:
            raise CommandError(
                what,
                why=f"{place} has no leader to copy it from",
                hint="start the brokers that hold it, or `klamm cluster elect-leaders --unclean`",
            )
    plan_for(state, broker_id)


def _is_sure(broker_id: int, count: int) -> bool:
    question = f"Move {count} partitions away from broker {broker_id}, and forget it?"
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        return False
