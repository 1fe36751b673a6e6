"""What goes wrong: steps of a plan, each at its time, and some of them at the same time.

A fault is a coroutine `(trouble, rng)`: it begins, lasts and ends by itself. What it chooses it draws from its own source of
chance, so that a step does the same in a plan with fewer steps, as far as the world is the same then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from random import Random
from typing import Any

from klamm.client import Admin
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.disk import Loss
from klamm.testing.scenarios.many_nodes.plan import Step
from klamm.testing.workload.stage import Stage

Fault = Callable[["Trouble", Random], Coroutine[Any, Any, None]]


class Trouble:
    """Who is down, who comes up, and who must not fail as well."""

    def __init__(self, cluster: SimulatedCluster, stage: Stage) -> None:
        self.cluster = cluster
        self.simulation = cluster.simulation
        self.stage = stage
        self.crashes = 0
        # What happened, for people: when, and what.
        self.story: list[tuple[float, str]] = []
        # A node that has lost what it had not synced, until everything has all its replicas again.
        self.fragile: int | None = None
        # Those that may end at any moment, though they still seem to be well.
        self.unwell: set[int] = set()
        # Nodes that did not come up, though nothing was wrong.
        self.failures: list[str] = []
        # How far each node's logs were safe when it died: see invariants/replicas.py.
        self.on_death: Callable[[int, bool], None] = lambda node_id, is_power: None
        self._starting: dict[int, asyncio.Task[Any]] = {}
        self._running: list[asyncio.Task[None]] = []
        cluster.on_end = self._ends_by_itself

    def tell(self, text: str) -> None:
        self.story.append((self.stage.now(), text))

    # The steps

    async def make(self, steps: tuple[Step, ...], seconds: float, faults: dict[str, Fault]) -> None:
        began = self.stage.now()
        for step in steps:
            await asyncio.sleep(max(0.0, began + step.at - self.stage.now()))
            rng = self.simulation.random(f"step {step.number}")
            self._running.append(asyncio.ensure_future(faults[step.fault](self, rng)))
        await asyncio.sleep(max(0.0, began + seconds - self.stage.now()))

    async def end(self) -> None:
        """Everything heals and starts."""
        for task in self._running:
            if not task.done():
                task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        for task in self._running:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error
        network = self.simulation.network
        network.heal()
        network.slow_hosts.clear()
        network.weather.loss, network.weather.latency = 0.0, 0.000_5
        for node_id in self.cluster.ids:
            machine = self.cluster.machine(node_id)
            machine.disk.steps_left = -1
            if (machine.disk.broken or machine.disk.is_full) and self.cluster.is_up(node_id):
                # Whoever saw the disk fail is started anew, whoever did not has been lucky.
                machine.disk.broken, machine.disk.is_full = None, False
                if machine.disk.failed_at is not None:
                    self.die(node_id)
            self.cluster.resume(node_id)
            self.quicken(node_id)
            self.begin(node_id)
        self.tell("everything heals")

    # Nodes

    @property
    def ready(self) -> list[int]:
        """Those that live and have come up."""
        return [each for each in self.cluster.living if each not in self._starting]

    def somebody(self, rng: Random) -> int | None:
        there = self.ready
        return rng.choice(there) if there else None

    def begin(self, node_id: int) -> None:
        """It comes up when it can: without a majority of the quorum it waits."""
        if self.cluster.is_up(node_id):
            return
        self.tell(f"node {node_id} starts")
        task = asyncio.ensure_future(self.cluster.start(node_id))
        self._starting[node_id] = task
        task.add_done_callback(lambda ended: self._began(node_id, ended))

    def _began(self, node_id: int, ended: asyncio.Task[Any]) -> None:
        if self._starting.get(node_id) is not ended:
            return
        del self._starting[node_id]
        error = None if ended.cancelled() else ended.exception()
        if error is not None:
            disk = self.cluster.machine(node_id).disk
            if not disk.is_full and disk.failed_at is None:
                self.failures.append(f"node {node_id} cannot start: {error!r}")
            self.die(node_id)

    def die(self, node_id: int, loss: Loss = Loss.NOTHING) -> None:
        """The process is killed, or the machine loses its power and all that was not synced."""
        if not self.cluster.is_up(node_id):
            return
        is_power = loss is not Loss.NOTHING
        self.on_death(node_id, is_power)
        self.crashes += 1
        self.tell(f"node {node_id} {'loses its power' if is_power else 'is killed'}")
        if (task := self._starting.pop(node_id, None)) is not None:
            task.cancel()
        if is_power:
            self.cluster.power_off(node_id, loss)
        else:
            self.cluster.kill(node_id)

    def _ends_by_itself(self, node_id: int) -> None:
        process = self.cluster.machine(node_id).process

        def is_gone() -> None:
            if process is self.cluster.machine(node_id).process and self.cluster.is_up(node_id):
                self.tell(f"node {node_id} ends by itself")
                self.die(node_id)

        # Nobody's context: it is not the node that sees to its own end.
        self.simulation.loop.call_soon(is_gone, context=Context())

    def quicken(self, node_id: int) -> None:
        """Its disk is as fast as usual."""
        if self.cluster.is_up(node_id):
            self.slow_down(node_id, 0.001)

    def slow_down(self, node_id: int, seconds: float) -> None:
        workers: Any = self.cluster.machine(node_id).world.workers
        workers.seconds = seconds

    # What must not come together

    def is_spared(self, what: str) -> bool:
        """One replica may lose what it had not synced. Until it has it back, no other may fall: that would be two."""
        if self.fragile is not None:
            self.tell(f"no {what}: node {self.fragile} is not whole again")
        return self.fragile is not None

    def may_lose(self) -> bool:
        """Whether a node may lose what it had not synced: everything is on all the others."""
        return not self.unwell and self.is_healthy()

    async def until_whole(self, node_id: int) -> None:
        """Comes back when all partitions have all replicas in sync, and lets others fail then."""
        try:
            await self.cluster.until(self.is_healthy, 1_000)
        finally:
            self.fragile = None

    def is_healthy(self) -> bool:
        return not self.ailment()

    def ailment(self) -> str:
        missing = [each for each in self.cluster.ids if each not in self.ready]
        if missing:
            return f"nodes {missing} are not up"
        for node_id in self.cluster.brokers:
            image = self.cluster.nodes[node_id].quorum.image
            for topic in image.topics_by_name.values():
                for index, partition in enumerate(topic.partitions):
                    if partition.leader < 0 or set(partition.isr) != set(partition.replicas):
                        return f"{topic.name}-{index} as node {node_id} knows it: {partition}"
        return ""

    # Asking

    async def asks(
        self, work: Callable[[Admin], Coroutine[Any, Any, None]], seconds: float
    ) -> None:
        """An administrator who is not among the actors asks for something. It may take too long."""

        async def ask() -> None:
            environment = self.stage.enters("elector")
            async with Admin(self.stage.bootstrap, environment=environment) as admin:
                await work(admin)

        self.stage.enters("elector")
        await asyncio.wait_for(self.stage.runs("elector", ask()), seconds)
