"""A whole node in a simulated world, for tests of that world."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from klamm.base.settings.load import load
from klamm.client import Environment
from klamm.server.node import Node
from klamm.testing.world import Simulation

T = TypeVar("T")
ADDRESS = "node1:9092"


class OneNode:
    """The node lives on the machine `node1` unless it is told another, whoever asks it on `client`."""

    def __init__(
        self,
        seed: int = 1,
        *,
        simulation: Simulation | None = None,
        machine: str = "node1",
        **settings: object,
    ) -> None:
        self.simulation = simulation or Simulation(seed)
        self.machine = self.simulation.machine(machine)
        texts = {
            "listeners": f"PLAINTEXT://{machine}:9092",
            "log.dirs": "/data",
            # An idle node writes a record every half a second, unless it is told not to.
            "metadata.max.idle.interval.ms": 600_000,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self._settings = load(overrides=[f"{name}={value}" for name, value in texts.items()])
        self.node: Node
        self.environment: Environment

    async def start(self) -> None:
        world = self.machine.boot()
        self.node = Node(self._settings, world)
        assert self.machine.process is not None
        await self.simulation.loop.spawn(self.machine.process, self.node.start())

    async def stop(self) -> None:
        assert self.machine.process is not None
        await self.simulation.loop.spawn(self.machine.process, self.node.stop())
        self.machine.kill()

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Start the node and do the work of a client; returns its result."""

        async def with_node() -> T:
            await self.start()
            client = self.simulation.machine("client")
            self.environment = client.environment()
            assert client.process is not None
            return await self.simulation.loop.spawn(client.process, _awaited(work))

        return self.simulation.loop.run(asyncio.wait_for(with_node(), 10_000_000))


async def time_passes(seconds: float) -> None:
    """By the simulated clock."""
    await asyncio.sleep(seconds)


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    return await work()
