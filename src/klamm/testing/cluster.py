"""A simulated cluster: so many whole nodes, each on a machine of its own, with the same settings but for their numbers.

    cluster = SimulatedCluster(Simulation(seed=1), nodes=3)
    cluster.run(work)          # starts all nodes, then does the work of a client on a machine of its own

`kill`, `power_off`, `stop`, `start` act on one node by its number; cuts are the network's (`cluster.simulation.network`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from klamm.base.ids import Uuid
from klamm.base.settings.broker import Settings
from klamm.base.settings.load import load
from klamm.client import Environment
from klamm.raft.messages import Address
from klamm.raft.voters import Voter, VoterSet
from klamm.server.node import Node
from klamm.server.storage import Paths, format_directories
from klamm.testing.disk import Loss
from klamm.testing.world import SimulatedMachine, Simulation

T = TypeVar("T")
_ROLES = {"x": "broker,controller", "o": "broker,controller", "b": "broker", "c": "controller"}
CLUSTER_ID = "c2ltdWxhdGVkLWNsdXN0ZQ"
_CLIENTS = 9092
_CONTROLLERS = 9093
# Above the ids of directories that are reserved.
_DIRECTORIES = 1_000
# Idle nodes would otherwise speak to each other all day.
_QUIET = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.num.partitions": 2,
}


class SimulatedCluster:
    """Roles by letters as `xxx`: x is broker and controller, c a controller only, b a broker only.

    With `has_open_quorum` the voters stand in the log; then o is as x, but no voter from the beginning.
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        nodes: int = 3,
        roles: str = "",
        settings: Mapping[str, object] | None = None,
        of_node: Callable[[int], Mapping[str, object]] = lambda _: {},
        has_open_quorum: bool = False,
    ) -> None:
        self.simulation = simulation
        self._roles = (roles or "x" * nodes).ljust(nodes, "b")[:nodes]
        self.ids = list(range(1, nodes + 1))
        self._texts = {**_QUIET, **self._replication(), **(settings or {})}
        self._of_node = of_node
        self._has_open_quorum = has_open_quorum
        # Hears of a node that ends by itself, as one does whose disk has failed.
        self.on_end: Callable[[int], None] = lambda _: None
        self.nodes: dict[int, Node] = {}
        self.environment: Environment

    def _replication(self) -> dict[str, object]:
        brokers = len(self.brokers)
        return {
            "default.replication.factor": min(3, brokers),
            "offsets.topic.replication.factor": min(3, brokers),
            "transaction.state.log.replication.factor": min(3, brokers),
            "transaction.state.log.min.isr": min(2, brokers),
        }

    # Who is there

    @property
    def brokers(self) -> list[int]:
        return [each for each in self.ids if self._roles[each - 1] in "xbo"]

    @property
    def controllers(self) -> list[int]:
        return [each for each in self.ids if self._roles[each - 1] in "xco"]

    @property
    def voters(self) -> VoterSet | None:
        """Those that the log begins with, if it has any."""
        if not self._has_open_quorum:
            return None
        return VoterSet(
            tuple(self.voter(each) for each in self.ids if self._roles[each - 1] in "xc")
        )

    def voter(self, node_id: int) -> Voter:
        """As it is known to an open quorum."""
        where = Address(self.name_of(node_id), _CONTROLLERS)
        return Voter(node_id, Uuid((_DIRECTORIES + node_id).to_bytes(16)), (("CONTROLLER", where),))

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{self.name_of(each)}:{_CLIENTS}" for each in self.brokers)

    def name_of(self, node_id: int) -> str:
        return f"node{node_id}"

    def machine(self, node_id: int) -> SimulatedMachine:
        return self.simulation.machine(self.name_of(node_id))

    def is_up(self, node_id: int) -> bool:
        process = self.machine(node_id).process
        return node_id in self.nodes and process is not None and not process.is_dead

    @property
    def living(self) -> list[int]:
        return [each for each in self.ids if self.is_up(each)]

    def settings_of(self, node_id: int) -> Settings:
        role = self._roles[node_id - 1]
        name = self.name_of(node_id)
        clients = f"PLAINTEXT://{name}:{_CLIENTS}"
        controllers = f"CONTROLLER://{name}:{_CONTROLLERS}"
        at = {each: f"{self.name_of(each)}:{_CONTROLLERS}" for each in self.controllers}
        quorum = {"controller.quorum.voters": ",".join(f"{n}@{where}" for n, where in at.items())}
        if self._has_open_quorum:
            quorum = {"controller.quorum.bootstrap.servers": ",".join(at.values())}
        texts = {
            "process.roles": _ROLES[role],
            "node.id": node_id,
            **quorum,
            "listeners": {"b": clients, "c": controllers}.get(role, f"{clients},{controllers}"),
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": "/data",
            **self._texts,
            **self._of_node(node_id),
        }
        return load(overrides=[f"{name}={value}" for name, value in texts.items()])

    # Coming and going

    async def start_all(self) -> None:
        await asyncio.gather(*(self.start(each) for each in self.ids if not self.is_up(each)))

    async def start(self, node_id: int) -> Node:
        """Returns when it serves clients: as long as the quorum has no majority that is never."""
        settings, machine = self.settings_of(node_id), self.machine(node_id)
        world = machine.boot()
        paths = Paths.of(settings)
        if not world.disk.exists(f"{paths.metadata}/meta.properties"):
            format_directories(
                world.disk,
                paths,
                cluster_id=CLUSTER_ID,
                node_id=node_id,
                chance=world.chance,
                now=world.clock.wall(),
                voters=self.voters if self._roles[node_id - 1] in "xc" else None,
            )
        node = self.nodes[node_id] = Node(settings, world)
        node.on_end = lambda: self.on_end(node_id)
        await self._on(node_id, node.start())
        return node

    async def stop(self, node_id: int) -> None:
        """A clean one."""
        await self._on(node_id, self.nodes[node_id].stop())
        self.machine(node_id).kill()

    async def restart(self, node_id: int) -> None:
        await self.stop(node_id)
        await self.start(node_id)

    def kill(self, node_id: int) -> None:
        self.machine(node_id).kill()

    def pause(self, node_id: int) -> None:
        """As SIGSTOP; what others send it waits."""
        if (process := self.machine(node_id).process) is not None:
            self.simulation.loop.pause(process)

    def resume(self, node_id: int) -> None:
        if (process := self.machine(node_id).process) is not None:
            self.simulation.loop.resume(process)

    def power_off(self, node_id: int, loss: Loss = Loss.ANY) -> None:
        self.machine(node_id).power_off(loss)

    def _on(self, node_id: int, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        process = self.machine(node_id).process
        assert process is not None
        return self.simulation.loop.spawn(process, work)

    # What it is at

    def leader_of(self, topic: str, partition: int) -> int | None:
        """As most of the living nodes see it; None if there is none."""
        for node_id in self.living:
            if node_id in self.brokers:
                found = self.nodes[node_id].broker.image.partition(topic, partition)
                if found is not None:
                    return found.leader if found.leader >= 0 else None
        return None

    async def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Virtual time passes until it holds."""
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)

    def run(self, work: Callable[[], Awaitable[T]], *, seconds: float = 100_000.0) -> T:
        """Start all nodes and do the work of a client; returns its result."""

        async def with_nodes() -> T:
            await self.start_all()
            client = self.simulation.machine("client")
            self.environment = client.environment()
            assert client.process is not None
            return await self.simulation.loop.spawn(client.process, _awaited(work))

        return self.simulation.loop.run(asyncio.wait_for(with_nodes(), seconds))


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    return await work()
