"""What is done to a cluster: each fault is a context that begins it and, at its end, takes it back.

Several may be under way at once, so none waits for nodes to serve: whoever is last does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from chaos.cluster.asking import ask
from chaos.cluster.nodes.nodes import Nodes
from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import Admin

_ADMIN_MS = 5_000
_ROLL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Scene:
    """Where it happens. `topics` may be moved about."""

    nodes: Nodes
    chance: Random
    topics: Mapping[str, int]

    def one(self) -> int:
        return self.chance.choice(self.nodes.ids)

    def some(self, count: int) -> list[int]:
        return self.chance.sample(list(self.nodes.ids), count)

    def others(self, node: int) -> list[int]:
        return [each for each in self.nodes.ids if each != node]

    def wait(self, shortest: float, longest: float) -> None:
        time.sleep(self.chance.uniform(shortest, longest))


Fault = Callable[[Scene], AbstractContextManager[str]]


# Processes


@contextmanager
def kill(scene: Scene) -> Iterator[str]:
    node = scene.one()
    scene.nodes.kill(node)
    yield f"kill {node}"
    scene.nodes.spawn(node)


@contextmanager
def kill_several(scene: Scene) -> Iterator[str]:
    """More than the cluster can do without, not at the same moment."""
    victims = scene.some(len(scene.nodes.ids) // 2 + 1)
    for node in victims:
        scene.nodes.kill(node)
        scene.wait(0, 0.5)
    yield f"kill {victims}"
    for node in victims:
        scene.nodes.spawn(node)
        scene.wait(0, 0.5)


@contextmanager
def kill_all(scene: Scene) -> Iterator[str]:
    for node in scene.nodes.ids:
        scene.nodes.kill(node)
    yield "kill all"
    for node in scene.nodes.ids:
        scene.nodes.spawn(node)


@contextmanager
def kill_while_starting(scene: Scene) -> Iterator[str]:
    node = scene.one()
    scene.nodes.kill(node)
    scene.nodes.spawn(node)
    scene.wait(0.1, 1.5)
    scene.nodes.kill(node)
    yield f"kill {node} twice"
    scene.nodes.spawn(node)


@contextmanager
def stop(scene: Scene) -> Iterator[str]:
    node = scene.one()
    scene.nodes.stop(node)
    yield f"stop {node}"
    scene.nodes.spawn(node)


@contextmanager
def roll(scene: Scene) -> Iterator[str]:
    """Everybody once, one after the other, as for an upgrade."""
    for node in scene.some(len(scene.nodes.ids)):
        scene.nodes.stop(node)
        scene.nodes.spawn(node)
        # Not longer: another fault may be in its way.
        scene.nodes.await_ready(node, _ROLL_SECONDS)
    yield "restart one after the other"


@contextmanager
def pause(scene: Scene) -> Iterator[str]:
    """Often for longer than a session lasts."""
    node = scene.one()
    scene.nodes.pause(node)
    yield f"pause {node}"
    scene.wait(0, 3)
    scene.nodes.resume(node)


@contextmanager
def flicker(scene: Scene) -> Iterator[str]:
    """Short pauses of several nodes."""
    for _ in range(scene.chance.randint(2, 6)):
        node = scene.one()
        scene.nodes.pause(node)
        scene.wait(0.05, 0.7)
        scene.nodes.resume(node)
    yield "short pauses"


# The network


@contextmanager
def isolate(scene: Scene) -> Iterator[str]:
    """From the other nodes, not from clients."""
    node = scene.one()
    for other in scene.others(node):
        scene.nodes.network.cut(node, other)
        scene.nodes.network.cut(other, node)
    yield f"isolate {node}"
    scene.nodes.network.heal()


@contextmanager
def isolate_from_all(scene: Scene) -> Iterator[str]:
    node = scene.one()
    for other in (*scene.others(node), None):
        scene.nodes.network.cut(other, node)
        if other is not None:
            scene.nodes.network.cut(node, other)
    yield f"isolate {node} from clients, too"
    scene.nodes.network.heal()


@contextmanager
def deafen(scene: Scene) -> Iterator[str]:
    node = scene.one()
    for other in scene.others(node):
        scene.nodes.network.cut(other, node)
    yield f"{node} hears no other"
    scene.nodes.network.heal()


@contextmanager
def mute(scene: Scene) -> Iterator[str]:
    node = scene.one()
    for other in scene.others(node):
        scene.nodes.network.cut(node, other)
    yield f"{node} is not heard"
    scene.nodes.network.heal()


@contextmanager
def cut_a_pair(scene: Scene) -> Iterator[str]:
    """The rest can talk to both."""
    one, other = scene.some(2)
    scene.nodes.network.cut(one, other)
    scene.nodes.network.cut(other, one)
    yield f"cut {one} from {other}"
    scene.nodes.network.heal()


@contextmanager
def ring(scene: Scene) -> Iterator[str]:
    """Everybody sees a majority, and everybody another one."""
    order = scene.some(len(scene.nodes.ids))
    for at, node in enumerate(order):
        near = {order[at - 1], order[(at + 1) % len(order)], node}
        for other in set(order) - near:
            scene.nodes.network.cut(node, other)
    yield f"ring {order}"
    scene.nodes.network.heal()


# Disks


@contextmanager
def full_disk(scene: Scene) -> Iterator[str]:
    node = scene.one()
    scene.nodes.disks.fill(node)
    yield f"full disk of {node}"
    scene.nodes.disks.make_room(node)
    # A directory that failed stays away until the node is started again.
    scene.nodes.kill(node)
    scene.nodes.spawn(node)


@contextmanager
def slow_disk(scene: Scene) -> Iterator[str]:
    node, milliseconds = scene.one(), scene.chance.choice((50, 300, 1500))
    scene.nodes.disks.slow_down(node, milliseconds)
    yield f"fsync of {node} takes {milliseconds} ms"
    scene.nodes.disks.heal(node)


@contextmanager
def failing_disk(scene: Scene) -> Iterator[str]:
    node = scene.one()
    scene.nodes.disks.fail_once(node)
    yield f"an fsync of {node} fails"
    scene.nodes.disks.heal(node)
    scene.nodes.kill(node)
    scene.nodes.spawn(node)


# Administrators


@contextmanager
def elect(scene: Scene) -> Iterator[str]:
    for _ in range(3):
        _administer(scene, lambda admin: admin.partitions.elect_leaders())
        scene.wait(0.1, 0.5)
    yield "elect leaders"


@contextmanager
def reassign(scene: Scene) -> Iterator[str]:
    """Other replicas, or the same in another order, twice: the second may meet the first on its way."""
    for _ in range(2):
        _administer(scene, lambda admin: _move(scene, admin))
        scene.wait(0.1, 1)
    yield "reassign"


async def _move(scene: Scene, admin: Admin) -> None:
    for topic, replicas in scene.topics.items():
        described = await admin.topics.describe(topic)
        wanted = {
            TopicPartition(topic, number): scene.some(replicas) for number in described.partitions
        }
        await admin.partitions.reassign(wanted)
    await admin.partitions.elect_leaders()


def _administer(scene: Scene, work: Callable[[Admin], object]) -> None:
    """Whoever administers may be out of luck."""
    with suppress(ApiError):
        ask(scene.nodes.bootstrap, work, timeout_ms=_ADMIN_MS)


class Kind(NamedTuple):
    fault: Fault
    # What it takes: an attribute of Nodes, or a command of foreign ones.
    needs: str = ""
    weight: int = 2
    fewest_nodes: int = 1


KINDS: Mapping[str, Kind] = {
    "kill": Kind(kill, weight=5),
    "kill-several": Kind(kill_several),
    "kill-all": Kind(kill_all),
    "kill-while-starting": Kind(kill_while_starting),
    "stop": Kind(stop, "stop"),
    "roll": Kind(roll, "stop", weight=1),
    "pause": Kind(pause, "pause", weight=4),
    "flicker": Kind(flicker, "pause"),
    "isolate": Kind(isolate, "network", weight=3),
    "isolate-from-all": Kind(isolate_from_all, "network"),
    "deafen": Kind(deafen, "network"),
    "mute": Kind(mute, "network"),
    "cut-a-pair": Kind(cut_a_pair, "network"),
    "ring": Kind(ring, "network", fewest_nodes=4),
    "full-disk": Kind(full_disk, "disks"),
    "slow-disk": Kind(slow_disk, "disks"),
    "failing-disk": Kind(failing_disk, "disks"),
    "elect": Kind(elect),
    "reassign": Kind(reassign, weight=4),
}


def possible(nodes: Nodes, only: Sequence[str] = ()) -> list[str]:
    """Names of the faults that can be had here."""

    def is_possible(kind: Kind) -> bool:
        if len(nodes.ids) < kind.fewest_nodes:
            return False
        if kind.needs in ("network", "disks"):
            return getattr(nodes, kind.needs) is not None
        can = getattr(nodes, "can", None)
        return not kind.needs or can is None or can(kind.needs)

    return [n for n, kind in KINDS.items() if is_possible(kind) and (not only or n in only)]
