"""A cluster under everything: clients of all kinds, nodes that die, vanish, pause and are cut off; then calm, and the invariants.

A seed chooses what takes part (a swarm: never all of it), how long it goes on and what goes wrong when. There are two phases: trouble,
in which nothing may be lost, and calm, in which everything must work again within a bounded time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

from klamm.base.errors import ApiError
from klamm.base.ids import TopicPartition
from klamm.client import Admin
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.disk import Loss
from klamm.testing.history import TopicLife
from klamm.testing.invariants import Evidence, Look, cluster_violations
from klamm.testing.invariants.replication import Watcher, images_are_equal, replicas_are_equal
from klamm.testing.scan import Scan, scan
from klamm.testing.scenarios.result import Result, errors_inside
from klamm.testing.workload.admins import Administrator
from klamm.testing.workload.consumers import Member, Reader
from klamm.testing.workload.producers import Transactor, Writer
from klamm.testing.workload.stage import Stage
from klamm.testing.world import Simulation

_GROUPS = ("classic-group", "consumer-group", "copies-of-transactor-1", "copies-of-transactor-2")
# How often the watcher looks, in virtual seconds.
_WATCH_SECONDS = 0.05
# Within this all partitions have their leader and all their replicas in sync, once nothing goes wrong any more (L1).
_HEALED_SECONDS = 90.0
_FAULTS = (
    "kill",
    "kill",
    "power",
    "pause",
    "cut",
    "one way",
    "ring",
    "reset",
    "lossy",
    "clock",
    "restart",
    "kill all",
    "elect",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a seed has chosen."""

    nodes: int
    roles: str
    seconds: float
    faults: tuple[str, ...]
    actors: tuple[str, ...]
    segment_bytes: int
    snapshot_bytes: int

    @classmethod
    def of(cls, seed: int, nodes: int | None = None) -> Plan:
        rng = Random(f"{seed}/cluster plan")
        count = nodes or rng.choice((3, 3, 3, 3, 5))
        apart = nodes is None and rng.random() < 0.2
        writers = ["writer-1", "writer-2"][: rng.randint(1, 2)]
        others = ["transactor-1", "transactor-2", "classic", "consumer", "reader", "admin"]
        return cls(
            nodes=6 if apart else count,
            roles="cccbbb" if apart else "xxx".ljust(count, "b"),
            seconds=rng.choice((30, 60, 90)),
            faults=tuple(dict.fromkeys(rng.sample(_FAULTS, rng.randint(1, 5)))),
            actors=(*writers, *rng.sample(others, rng.randint(1, 4))),
            segment_bytes=rng.choice((600, 3_000, 20_000)),
            snapshot_bytes=rng.choice((2_000, 20_000, 20 << 20)),
        )


class ManyNodesScenario:
    def __init__(self, seed: int, nodes: int | None = None) -> None:
        self.seed = seed
        self.simulation = Simulation(seed)
        self.plan = plan = Plan.of(seed, nodes)
        self._rng = self.simulation.random("scenario")
        self.cluster = SimulatedCluster(
            self.simulation,
            nodes=plan.nodes,
            roles=plan.roles,
            settings={
                "auto.create.topics.enable": "false",
                "min.insync.replicas": 2,
                "group.initial.rebalance.delay.ms": 500,
                "log.retention.check.interval.ms": 10_000,
                "log.initial.task.delay.ms": 5_000,
                "log.cleaner.backoff.ms": 4_000,
                "log.cleaner.min.cleanable.ratio": 0.05,
                "log.flush.offset.checkpoint.interval.ms": 20_000,
                "replica.high.watermark.checkpoint.interval.ms": 5_000,
                "replica.lag.time.max.ms": 10_000,
                "metadata.max.idle.interval.ms": 5_000,
                "metadata.log.max.record.bytes.between.snapshots": plan.snapshot_bytes,
            },
        )
        self._watcher = Watcher()
        self._violations: list[str] = []
        self._crashes = 0
        self._starting: dict[int, asyncio.Task[Any]] = {}
        self._stage: Stage
        self._evidence: Evidence

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

    # The play

    async def _run(self) -> None:
        self._stage = stage = Stage(self.simulation, self.cluster.bootstrap)
        self._evidence = Evidence(stage.history)
        await asyncio.wait_for(self.cluster.start_all(), 60)
        await self._create_topics()
        watching = asyncio.ensure_future(self._watch())
        actors = [stage.runs(name, work) for name, work in self._actors()]
        await self._make_trouble(stage.now() + self.plan.seconds)
        await self._calm_down()
        stage.is_over = True
        await asyncio.wait(actors, timeout=600)
        # Every transaction that was left open is over by then.
        await asyncio.sleep(90)
        watching.cancel()
        self._violations += self._watcher.complaints[:5]
        await self._look()

    def _actors(self) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        stage = self._stage
        found: list[tuple[str, Coroutine[Any, Any, None]]] = []
        for name in self.plan.actors:
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
            async with Admin(stage.bootstrap, environment=stage.enters("setup")) as admin:
                for name, (partitions, configs) in wanted.items():
                    await admin.topics.create(
                        name,
                        partitions=partitions,
                        replication_factor=3,
                        configs={**segments, **configs},
                    )
                    stage.topics[name] = partitions
                    stage.history.topics.append(TopicLife(name, stage.now()))

        stage.enters("setup")
        await stage.runs("setup", create())

    async def _watch(self) -> None:
        while not self._watcher.complaints:
            await asyncio.sleep(_WATCH_SECONDS)
            self._watcher.look({each: self.cluster.nodes[each] for each in self._ready()})

    def _ready(self) -> list[int]:
        """Those that live and have come up."""
        return [each for each in self.cluster.living if each not in self._starting]

    # Trouble

    async def _make_trouble(self, end: float) -> None:
        by_name: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
            "kill": self._kill,
            "power": self._power_failure,
            "pause": self._pause,
            "cut": self._cut,
            "one way": self._cut_one_way,
            "ring": self._cut_ring,
            "reset": self._reset,
            "lossy": self._lossy,
            "clock": self._set_clock,
            "restart": self._restart,
            "kill all": self._kill_all,
            "elect": self._elect,
        }
        acts = [by_name[name] for name in self.plan.faults]
        while self._stage.now() < end:
            await asyncio.sleep(self._rng.expovariate(1 / 8))
            await self._rng.choice(acts)()

    def _somebody(self) -> int | None:
        there = self._ready()
        return self._rng.choice(there) if there else None

    def _begin(self, node_id: int) -> None:
        """It comes up when it can: without a majority of the quorum it waits."""
        task = asyncio.ensure_future(self.cluster.start(node_id))
        self._starting[node_id] = task
        task.add_done_callback(lambda _: self._starting.pop(node_id, None))

    def _end(self, node_id: int) -> None:
        self._crashes += 1
        if (task := self._starting.pop(node_id, None)) is not None:
            task.cancel()

    async def _kill(self) -> None:
        if (node_id := self._somebody()) is None:
            return
        self._end(node_id)
        self.cluster.kill(node_id)
        await asyncio.sleep(self._rng.choice((0.0, 1.0, 15.0)))
        self._begin(node_id)

    async def _power_failure(self) -> None:
        """Of one node, while all others have everything: what it had not synced is on them."""
        if not self._is_healthy() or (node_id := self._somebody()) is None:
            return
        self._end(node_id)
        self.cluster.power_off(node_id, Loss.ANY)
        await asyncio.sleep(self._rng.choice((0.0, 2.0, 20.0)))
        self._begin(node_id)
        with suppress(TimeoutError):
            await self.cluster.until(self._is_healthy, 40)

    async def _kill_all(self) -> None:
        """Nothing is lost by that: the machines go on."""
        for node_id in self.cluster.living:
            self._end(node_id)
            self.cluster.kill(node_id)
        await asyncio.sleep(self._rng.choice((0.0, 5.0)))
        for node_id in self.cluster.ids:
            self._begin(node_id)
            await asyncio.sleep(self._rng.choice((0.0, 0.0, 3.0)))

    async def _pause(self) -> None:
        if (node_id := self._somebody()) is None:
            return
        self.cluster.pause(node_id)
        await asyncio.sleep(self._rng.choice((0.5, 3.0, 12.0)))
        self.cluster.resume(node_id)

    async def _cut(self) -> None:
        """Some nodes, and some clients, from the rest."""
        names = self.simulation.names()
        some = self._rng.sample(names, self._rng.randint(1, max(1, len(names) // 2)))
        others = [name for name in names if name not in some]
        await self._cut_off(some, others, both=True)

    async def _cut_one_way(self) -> None:
        names = [self.cluster.name_of(each) for each in self.cluster.ids]
        one = self._rng.choice(names)
        others = [name for name in names if name != one]
        ways = ([one], others) if self._rng.random() < 0.5 else (others, [one])
        await self._cut_off(*ways, both=False)

    async def _cut_ring(self) -> None:
        """Each node sees a majority, and no two see the same one."""
        names = [self.cluster.name_of(each) for each in self.cluster.ids]
        for place, name in enumerate(names):
            opposite = names[(place + len(names) // 2) % len(names)]
            if opposite != name:
                self.simulation.network.cut([name], [opposite])
        await asyncio.sleep(self._rng.choice((2, 10, 20)))
        self.simulation.network.heal()

    async def _cut_off(self, some: list[str], others: list[str], *, both: bool) -> None:
        self.simulation.network.cut(some, others, both=both)
        await asyncio.sleep(self._rng.choice((1, 5, 20)))
        self.simulation.network.heal()

    async def _reset(self) -> None:
        self.simulation.network.reset_connections(
            self.cluster.name_of(self._rng.choice(self.cluster.ids))
        )

    async def _lossy(self) -> None:
        weather = self.simulation.network.weather
        weather.loss, weather.latency = self._rng.choice(
            ((0.1, 0.0005), (0.0, 0.05), (0.02, 0.005))
        )

    async def _set_clock(self) -> None:
        machine = self.cluster.machine(self._rng.choice(self.cluster.ids))
        machine.clock.wall_error_ms += self._rng.randint(-5_000, 5_000)

    async def _restart(self) -> None:
        """A clean one."""
        if (node_id := self._somebody()) is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self.cluster.stop(node_id), 60)
        if self.cluster.is_up(node_id):
            self.cluster.kill(node_id)
        self._begin(node_id)

    async def _elect(self) -> None:
        """Leaders go back to the replicas that should lead."""

        async def ask() -> None:
            environment = self._stage.enters("elector")
            async with Admin(self._stage.bootstrap, environment=environment) as admin:
                await admin.partitions.elect_leaders()

        self._stage.enters("elector")
        with suppress(ApiError, TimeoutError):
            await asyncio.wait_for(self._stage.runs("elector", ask()), 30)

    # Calm

    async def _calm_down(self) -> None:
        network = self.simulation.network
        network.heal()
        network.weather.loss, network.weather.latency = 0.0, 0.000_5
        for node_id in self.cluster.ids:
            self.cluster.resume(node_id)
            if not self.cluster.is_up(node_id) and node_id not in self._starting:
                self._begin(node_id)
        try:
            await self.cluster.until(self._is_healthy, _HEALED_SECONDS)
        except TimeoutError:
            self._violations.append(f"L1: not healthy after {_HEALED_SECONDS} s: {self._ailment()}")

    def _is_healthy(self) -> bool:
        return not self._ailment()

    def _ailment(self) -> str:
        missing = [each for each in self.cluster.ids if each not in self._ready()]
        if missing:
            return f"nodes {missing} are not up"
        for node_id in self.cluster.brokers:
            image = self.cluster.nodes[node_id].quorum.image
            for topic in image.topics_by_name.values():
                for index, partition in enumerate(topic.partitions):
                    if partition.leader < 0 or len(partition.isr) < len(partition.replicas):
                        return f"{topic.name}-{index} as node {node_id} knows it: {partition}"
        return ""

    # Looking

    async def _look(self) -> None:
        scans = {each: scan(self.cluster.nodes[each]) for each in self.cluster.brokers}
        offsets, began = await self._committed_offsets()
        evidence = self._evidence
        look = Look(self._stage.now(), self._of_leaders(scans), offsets=offsets)
        look.asked = (began, self._stage.now())
        evidence.looks.append(look)
        self._violations += cluster_violations(evidence)
        self._violations += replicas_are_equal(scans)
        self._violations += images_are_equal(self.cluster.nodes)

    def _of_leaders(self, scans: dict[int, Scan]) -> Scan:
        """Each partition as its leader has it."""
        found: Scan = {}
        for node_id, logs in scans.items():
            for name, log in logs.items():
                if self.cluster.leader_of(name.topic, name.partition) == node_id:
                    found[name] = log
        return found

    async def _committed_offsets(
        self,
    ) -> tuple[dict[str, dict[TopicPartition, int]], float]:
        """As any client sees them; groups that nobody made yet have none."""
        found: dict[str, dict[TopicPartition, int]] = {}
        began = self._stage.now()

        async def ask() -> None:
            environment = self._stage.enters("looker")
            async with Admin(self._stage.bootstrap, environment=environment) as admin:
                for group in _GROUPS:
                    with_offsets = await admin.groups.offsets(group)
                    found[group] = {place: each.offset for place, each in with_offsets.items()}

        self._stage.enters("looker")
        try:
            await asyncio.wait_for(self._stage.runs("looker", ask()), 90)
        except (ApiError, TimeoutError) as e:
            self._violations.append(f"L1: committed offsets cannot be read: {e!r}")
            return {}, began
        return found, began


def run_many_nodes(seed: int, nodes: int | None = None) -> Result:
    return ManyNodesScenario(seed, nodes).run()
