"""One node under everything: clients of all kinds, retention, compaction, changes by an admin, faults; then the invariants.

A seed chooses what takes part (a swarm: never all of it), how long it goes on and what goes wrong when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from random import Random
from typing import Any

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.base.settings.load import load
from klamm.client import Admin
from klamm.server.node import Node
from klamm.testing.disk import Loss
from klamm.testing.history import TopicLife
from klamm.testing.invariants import Evidence, Look, violations
from klamm.testing.scan import scan
from klamm.testing.scenarios.result import Result, errors_inside
from klamm.testing.workload.admins import Administrator
from klamm.testing.workload.consumers import Member, Reader
from klamm.testing.workload.producers import Transactor, Writer
from klamm.testing.workload.stage import Stage
from klamm.testing.world import SimulatedMachine, Simulation

NAME = "node1"
ADDRESS = f"{NAME}:9092"
_GROUPS = ("classic-group", "consumer-group", "copies-of-transactor-1", "copies-of-transactor-2")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a seed has chosen."""

    seconds: float
    # kill: a process ends, its machine goes on; power: so does the machine, and what was not synced is lost.
    crash: str
    # Everything is synced before it is acknowledged; else a power failure may take the newest.
    is_synced: bool
    faults: tuple[str, ...]
    actors: tuple[str, ...]
    segment_bytes: int
    idle_seconds: float

    @classmethod
    def of(cls, seed: int) -> Plan:
        rng = Random(f"{seed}/plan")
        crash = rng.choice(("none", "kill", "kill", "kill", "power", "power"))
        is_synced = crash == "power" and rng.random() < 0.5
        writers = ["writer-1", "writer-2"][: rng.randint(1, 2)]
        others = ["transactor-1", "transactor-2", "classic", "consumer", "reader", "admin"]
        actors = (*writers, *rng.sample(others, rng.randint(2, len(others))))
        if is_synced:
            # Coordinators answer before what they wrote is synced, whatever flush.messages says.
            actors = tuple(name for name in actors if name not in others[:4])
        # Who polls does so day and night.
        is_quiet = not {"classic", "consumer", "reader"} & set(actors)
        kinds = ["cut", "one way", "reset", "lossy", "clock", "restart", "in the middle", "broken"]
        return cls(
            seconds=rng.choice((60, 120, 240)),
            crash=crash,
            is_synced=is_synced,
            faults=tuple(rng.sample(kinds, rng.randint(0, 4))),
            actors=actors,
            segment_bytes=rng.choice((600, 3_000, 20_000)),
            idle_seconds=rng.choice((0, 3_600, 86_400) if is_quiet else (0, 0, 300)),
        )


class OneNodeScenario:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.simulation = Simulation(seed)
        self._rng = self.simulation.random("scenario")
        self.plan = Plan.of(seed)
        self._machine: SimulatedMachine = self.simulation.machine(NAME)
        self._stage: Stage
        self._node: Node
        self._evidence: Evidence
        self._violations: list[str] = []
        self._crashes = 0
        self._died = asyncio.Event()
        self._settings = load(
            overrides=[
                f"listeners=PLAINTEXT://{ADDRESS}",
                "log.dirs=/data",
                "auto.create.topics.enable=false",
                "offsets.topic.num.partitions=2",
                "transaction.state.log.num.partitions=2",
                "group.initial.rebalance.delay.ms=500",
                "log.retention.check.interval.ms=10000",
                "log.initial.task.delay.ms=5000",
                "log.cleaner.backoff.ms=4000",
                "log.cleaner.min.cleanable.ratio=0.05",
                "log.flush.offset.checkpoint.interval.ms=20000",
                "metadata.max.idle.interval.ms=60000",
                f"log.flush.interval.messages={1 if self.plan.is_synced else 2**63 - 1}",
            ]
        )

    def run(self) -> Result:
        with errors_inside() as errors:
            self.simulation.loop.run(self._run())
        self._violations += [f"an error inside: {text}" for text in errors]
        self._violations += [f"complaint: {text}" for text in self.simulation.loop.complaints]
        return Result(
            self.seed,
            self.plan,
            self._violations,
            self._stage.history.operations,
            self.simulation.loop.events,
            self.simulation.loop.time(),
            self._crashes,
            self.simulation.trace.digest,
        )

    # The play ----------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._stage = stage = Stage(self.simulation, ADDRESS)
        self._evidence = Evidence(
            stage.history,
            may_lose_unsynced=self.plan.crash == "power" and not self.plan.is_synced,
        )
        await self._start()
        await self._create_topics()
        actors = [stage.runs(name, work) for name, work in self._actors()]
        await self._make_trouble(stage.now() + self.plan.seconds)
        await self._calm_down()
        stage.is_over = True
        await asyncio.wait(actors, timeout=900)
        # Every transaction that was left open is over by then.
        await asyncio.sleep(120)
        await self._look()
        await self._restart()
        await self._look(is_after_crash=True)

    def _actors(self) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        stage, wanted = self._stage, self.plan.actors
        found: list[tuple[str, Coroutine[Any, Any, None]]] = []
        for name in wanted:
            if name.startswith("writer"):
                found.append((name, Writer(stage, name).run()))
            elif name.startswith("transactor"):
                found.append((name, Transactor(stage, name).run()))
            elif name == "reader":
                found.append((name, Reader(stage, name).run()))
            elif name == "admin":
                found.append((name, Administrator(stage, name).run()))
            elif name == "classic":
                for each in ("member-1", "member-2"):
                    found.append((each, Member(stage, each, "classic-group", "classic").run()))
            elif name == "consumer":
                for each in ("member-3", "member-4"):
                    found.append((each, Member(stage, each, "consumer-group", "consumer").run()))
        for name, _ in found:
            stage.enters(name)
        return found

    async def _create_topics(self) -> None:
        stage = self._stage
        segments = {"internal.segment.bytes": str(self.plan.segment_bytes)}
        compacted = {"cleanup.policy": "compact", "delete.retention.ms": "30000"}
        wanted = {
            "plain": (2, {}),
            "short": (1, {"retention.bytes": "4000"}),
            "compact": (1, compacted),
            "passing": (2, {}),
        }

        async def create() -> None:
            async with Admin(ADDRESS, environment=stage.enters("setup")) as admin:
                for name, (partitions, configs) in wanted.items():
                    await admin.topics.create(
                        name,
                        partitions=partitions,
                        replication_factor=1,
                        configs={**segments, **configs},
                    )
                    stage.topics[name] = partitions
                    stage.history.topics.append(TopicLife(name, stage.now()))

        stage.enters("setup")
        await stage.runs("setup", create())

    # The node ----------------------------------------------------------------------------------

    async def _start(self) -> None:
        self._died.clear()
        world = self._machine.boot()
        self._node = Node(self._settings, world)
        assert self._machine.process is not None
        await self.simulation.loop.spawn(self._machine.process, self._node.start())

    async def _restart(self) -> None:
        """A clean one."""
        assert self._machine.process is not None
        await self.simulation.loop.spawn(self._machine.process, self._node.stop())
        self._machine.kill()
        await self._start()

    def _crash(self) -> None:
        self._crashes += 1
        self._evidence.crashed_at = self._stage.now()
        if self.plan.crash == "power":
            self._machine.power_off(Loss.ANY)
        else:
            self._machine.kill()
        self._died.set()

    async def _come_back(self) -> None:
        await asyncio.sleep(self._rng.choice((0.0, 1.0, 20.0)))
        await self._start()
        # What was decided before the crash is carried out.
        await asyncio.sleep(2)
        await self._look(is_after_crash=True)

    # Trouble -----------------------------------------------------------------------------------

    async def _make_trouble(self, end: float) -> None:
        rng, plan = self._rng, self.plan
        acts: list[Callable[[], Coroutine[Any, Any, None]]] = [self._look]
        if plan.crash != "none":
            acts += [self._crash_now, self._crash_now]
            if "in the middle" in plan.faults:
                acts += [self._crash_in_the_middle, self._crash_in_the_middle]
        by_name = {
            "cut": self._cut,
            "one way": self._cut_one_way,
            "reset": self._reset,
            "lossy": self._lossy,
            "clock": self._set_clock,
            "restart": self._restart,
            "broken": self._break_disk,
        }
        acts += [by_name[name] for name in plan.faults if name in by_name]
        is_idle = not plan.idle_seconds
        while self._stage.now() < end:
            await asyncio.sleep(rng.expovariate(1 / 12))
            await rng.choice(acts)()
            if not is_idle and self._stage.now() > end - plan.seconds / 2:
                is_idle = True
                self._stage.sleep()
                await asyncio.sleep(plan.idle_seconds)
                end += plan.idle_seconds
                self._stage.wake()

    async def _crash_now(self) -> None:
        await self._look()
        self._crash()
        await self._come_back()

    async def _crash_in_the_middle(self) -> None:
        """Of whatever the disk does then."""
        await self._look()
        self._machine.disk.crash_after(self._rng.randrange(60), self._crash)
        try:
            async with asyncio.timeout(30):
                await self._died.wait()
        except TimeoutError:
            self._crash()
        await self._come_back()

    def _clients(self) -> list[str]:
        return [name for name in self.simulation.names() if name != NAME]

    async def _cut(self) -> None:
        names = self._clients()
        some = self._rng.sample(names, self._rng.randint(1, len(names)))
        self.simulation.network.cut(some, [NAME])
        await asyncio.sleep(self._rng.choice((1, 5, 25)))
        self.simulation.network.heal()

    async def _cut_one_way(self) -> None:
        some = self._rng.sample(self._clients(), 2)
        ways = (some, [NAME]) if self._rng.random() < 0.5 else ([NAME], some)
        self.simulation.network.cut(*ways, both=False)
        await asyncio.sleep(self._rng.choice((1, 5, 25)))
        self.simulation.network.heal()

    async def _reset(self) -> None:
        self.simulation.network.reset_connections(NAME)

    async def _lossy(self) -> None:
        weather = self.simulation.network.weather
        weather.loss, weather.latency = self._rng.choice(
            ((0.1, 0.0005), (0.0, 0.05), (0.02, 0.005))
        )
        self.simulation.network.window = self._rng.choice((500, 5_000, 64 * 1024))

    async def _set_clock(self) -> None:
        """By seconds: what is older than its retention goes, as it should."""
        self._machine.clock.wall_error_ms += self._rng.randint(-5_000, 5_000)

    async def _break_disk(self) -> None:
        """Syncs fail from here on; only a crash and another disk driver help."""
        if self.plan.crash == "none":
            return
        await self._look()
        disk = self._machine.disk
        disk.broken = "/data"
        await asyncio.sleep(self._rng.choice((5, 40)))
        # Without a failed sync nothing was promised to be over.
        self._evidence.broken_since = disk.failed_at
        self._crash()
        await self._come_back()
        self._evidence.broken_since = None

    async def _calm_down(self) -> None:
        network = self.simulation.network
        network.heal()
        network.weather.loss, network.weather.latency = 0.0, 0.000_5

    # Looking -----------------------------------------------------------------------------------

    async def _look(self, *, is_after_crash: bool = False) -> None:
        evidence = self._evidence
        began = self._stage.now()
        offsets = await self._committed_offsets()
        look = Look(
            self._stage.now(),
            scan(self._node),
            is_after_crash,
            is_after_crash and self.plan.crash == "power",
            offsets,
            (began, self._stage.now()),
        )
        evidence.looks.append(look)
        found = violations(evidence)
        self._violations += [f"at {look.at:.3f}: {text}" for text in found if not self._violations]
        if look.is_after_power_failure and evidence.may_lose_unsynced:
            evidence.forget_what_was_lost()
        for coordinator in (self._node.broker.groups, self._node.broker.transactions):
            for shard in coordinator.shards():
                shard.check_invariants()

    async def _committed_offsets(self) -> dict[str, dict[TopicPartition, int]]:
        """As any client sees them; groups that nobody made yet have none."""
        found: dict[str, dict[TopicPartition, int]] = {}

        async def ask() -> None:
            async with Admin(ADDRESS, environment=self._stage.enters("looker")) as admin:
                for group in _GROUPS:
                    with_offsets = await admin.groups.offsets(group)
                    found[group] = {place: each.offset for place, each in with_offsets.items()}

        self._stage.enters("looker")
        asking = self._stage.runs("looker", ask())
        try:
            async with asyncio.timeout(90):
                await asking
        except (ApiError, TimeoutError):
            return {}
        return found


def run_one_node(seed: int) -> Result:
    return OneNodeScenario(seed).run()
