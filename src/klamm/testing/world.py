"""A simulated world: machines with disks and clocks of their own, a network between them, and one seed for all chance.

The same seed gives the same run, bit for bit: `simulation.trace.digest` is a hash of all that was delivered and written.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from klamm.base.clock import Ms, Now
from klamm.client.environment import Environment
from klamm.server.world.ports import Machine, World
from klamm.testing.disk import Loss
from klamm.testing.host_disk import HostDisk
from klamm.testing.loop import Incarnation, SimulatedLoop
from klamm.testing.network import Host, HostNetwork, Network
from klamm.testing.trace import Trace
from klamm.testing.workers import SimulatedTurns, SimulatedWorkers

# When simulations begin: some day in 2026.
EPOCH_MS = 1_780_000_000_000
_LIMITS = Machine(memory_bytes=1 << 32, cores=1.0, open_files=10_000)


class HostClock:
    """Monotonic time is the loop's. The wall clock is as wrong as somebody sets it."""

    __slots__ = ("_time", "wall_error_ms")

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self.wall_error_ms = 0

    def monotonic(self) -> Ms:
        return int(self._time() * 1000)

    def wall(self) -> Ms:
        return EPOCH_MS + self.wall_error_ms + int(self._time() * 1000)

    def now(self) -> Now:
        return Now(self.monotonic(), self.wall())


class SimulatedMachine:
    """What stays when processes die: a name on the network, a disk and a clock."""

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._simulation = simulation
        self._lives = 0
        self.name = name
        self.host = Host(name)
        self.clock = HostClock(simulation.loop.time)
        self.disk = HostDisk(self._note, simulation.loop.time)
        self.process: Incarnation | None = None
        # That of the process that runs here.
        self.world: World

    def _note(self, what: str, where: str, data: bytes) -> None:
        simulation = self._simulation
        self.disk.now_ms = self.clock.wall()
        simulation.trace.note(simulation.loop.time(), what, f"{self.name}:{where}", data)

    def boot(self) -> World:
        """A new process; returns its world. There may be one at a time."""
        assert self.process is None or self.process.is_dead
        simulation = self._simulation
        self._lives += 1
        self.host.is_up = True
        process = self.process = Incarnation(f"{self.name}/{self._lives}")
        self.world = World(
            clock=self.clock,
            chance=simulation.random(f"{process.name}/chance"),
            disk=self.disk,
            network=HostNetwork(simulation.network, self.host, process, simulation.host),
            workers=SimulatedWorkers(simulation.loop, simulation.random(f"{process.name}/workers")),
            turns=SimulatedTurns(simulation.loop, simulation.random(f"{process.name}/turns")),
            machine=_LIMITS,
        )
        return self.world

    def environment(self) -> Environment:
        """For clients of the process that runs here."""
        simulation = self._simulation
        if self.process is None or self.process.is_dead:
            self.boot()
        assert self.process is not None
        return Environment(
            clock=self.clock,
            rng=simulation.random(f"{self.process.name}/client"),
            open=simulation.network.opener(self.host, self.process, simulation.host),
        )

    def kill(self) -> None:
        """kill -9: the machine goes on, and what was written is there."""
        self._die(silently=False)
        self._end_of_disk(Loss.NOTHING)

    def power_off(self, loss: Loss = Loss.ANY) -> None:
        """Nobody is told, and what was not synced is lost or torn. `boot` is the power coming back."""
        self._die(silently=True)
        self.host.is_up = False
        self._end_of_disk(loss)

    def _die(self, *, silently: bool) -> None:
        process = self.process
        if process is None or process.is_dead:
            return
        simulation = self._simulation
        simulation.trace.note(simulation.loop.time(), "dies", process.name)
        simulation.loop.kill(process)
        simulation.network.host_died(self.host, process, silently=silently)

    def _end_of_disk(self, loss: Loss) -> None:
        self.disk.steps_left = -1
        self.disk.broken = self.disk.failed_at = None
        self.disk.is_full = False
        self.disk.crash(self._simulation.random(f"{self.name}/{self._lives}/loss"), loss)


class Simulation:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.loop = SimulatedLoop()
        self.trace = Trace()
        self.network = Network(self.loop, self.random("network"), self.trace)
        self._machines: dict[str, SimulatedMachine] = {}

    def random(self, name: str) -> Random:
        """A source of its own for everything: what is added to one part does not change what another draws."""
        return Random(f"{self.seed}/{name}")

    def machine(self, name: str) -> SimulatedMachine:
        if name not in self._machines:
            self._machines[name] = SimulatedMachine(self, name)
        return self._machines[name]

    def names(self) -> list[str]:
        return list(self._machines)

    def host(self, name: str) -> Host:
        return self.machine(name).host
