"""The play: a cluster starts, clients work, trouble is made of the plan's steps, everything heals and is looked at.

There are two phases: trouble, in which nothing may be lost, and calm, in which everything must work again within a bounded time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from klamm.client import Admin
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.history import TopicLife
from klamm.testing.invariants import WATCHED, Evidence
from klamm.testing.invariants.watching import Watcher
from klamm.testing.scenarios.many_nodes.faults import BY_NAME
from klamm.testing.scenarios.many_nodes.inspection import final_look, look_closely
from klamm.testing.scenarios.many_nodes.liveness import all_is_well
from klamm.testing.scenarios.many_nodes.plan import Plan
from klamm.testing.scenarios.many_nodes.trouble import Trouble
from klamm.testing.scenarios.result import Result, errors_inside
from klamm.testing.workload.admins import Administrator
from klamm.testing.workload.consumers import Member, Reader
from klamm.testing.workload.producers import Transactor, Writer
from klamm.testing.workload.stage import Stage
from klamm.testing.world import Simulation

# A closer look, which takes longer, every so many looks.
_CLOSER = 100
# So long clients have to end what they are at.
_LEAVE_SECONDS = 15.0
# By then every transaction that was left open is over: its timeout, and the coordinator's next round.
_ENDS_SECONDS = 35.0
# Looks are so much rarer when nothing goes wrong any more.
_CALM = 5


class ManyNodesScenario:
    """`is_hasty` ends it with the first violation: to see that there is one, not all that comes of it."""

    def __init__(self, seed: int, plan: Plan, *, is_hasty: bool = False) -> None:
        self.seed = seed
        self.plan = plan
        self._is_hasty = is_hasty
        self.simulation = Simulation(seed)
        self.simulation.network.window = plan.window
        self.cluster = SimulatedCluster(
            self.simulation,
            nodes=plan.nodes,
            roles=plan.roles,
            has_open_quorum=plan.has_open_quorum,
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
                "replica.fetch.max.bytes": plan.replica_fetch_bytes,
                "replica.fetch.response.max.bytes": 2 * plan.replica_fetch_bytes,
                "broker.session.timeout.ms": plan.session_ms,
                "broker.heartbeat.interval.ms": plan.session_ms // 4,
                "metadata.max.idle.interval.ms": 5_000,
                "metadata.log.max.record.bytes.between.snapshots": plan.snapshot_bytes,
            },
        )
        self._stage = Stage(
            self.simulation, self.cluster.bootstrap, transaction_ms=(10_000, 20_000)
        )
        self._evidence = Evidence(self._stage.history)
        self._trouble = Trouble(self.cluster, self._stage)
        self._watcher = Watcher(WATCHED)
        self._members: list[Member] = []
        self._violations: list[str] = []

    def run(self) -> Result:
        with errors_inside() as errors:
            self._errors = errors
            self.simulation.loop.run(self._run_until_violated())
        self._violations += self._found_inside()
        return Result(
            self.seed,
            self.plan,
            self._violations,
            self._stage.history.operations,
            self.simulation.loop.events,
            self.simulation.loop.time(),
            self._trouble.crashes,
            self.simulation.trace.digest,
            self._trouble.story,
        )

    def _found_inside(self) -> list[str]:
        return [
            *self._trouble.failures,
            *(f"an error inside: {text}" for text in self._errors),
            *(f"complaint: {text}" for text in self.simulation.loop.complaints),
        ]

    # The play

    async def _run_until_violated(self) -> None:
        """The watcher ends a hasty play at once, wherever it is."""
        self._play = asyncio.ensure_future(self._run())
        await asyncio.wait([self._play])
        if not self._play.cancelled() and (error := self._play.exception()) is not None:
            raise error

    async def _run(self) -> None:
        stage, trouble = self._stage, self._trouble
        await asyncio.wait_for(self.cluster.start_all(), 60)
        await self._create_topics()
        trouble.on_death = lambda *how: self._watcher.dies(self.cluster.nodes, *how)
        watching = asyncio.ensure_future(self._watch())
        actors = [stage.runs(name, work) for name, work in self._actors()]
        await trouble.make(self.plan.steps, self.plan.seconds, BY_NAME)
        await trouble.end()
        stage.is_calm = True
        self._violated(await all_is_well(self.cluster, trouble, stage, self._members))
        stage.is_over = True
        if actors:
            await asyncio.wait(actors, timeout=_LEAVE_SECONDS)
        for name in self.simulation.names():
            if name not in map(self.cluster.name_of, self.cluster.ids):
                # Who has not come to its end by now waits for an answer that went to nobody.
                self.simulation.machine(name).kill()
        await asyncio.sleep(_ENDS_SECONDS)
        watching.cancel()
        self._violated(await final_look(self.cluster, stage, self._evidence, self._watcher))

    def _violated(self, found: list[str]) -> None:
        self._violations += found[:5]

    async def _watch(self) -> None:
        cluster, watcher = self.cluster, self._watcher
        looks = 0
        while not self._violations:
            await asyncio.sleep(self.plan.watch_seconds * (_CALM if self._stage.is_calm else 1))
            looks += 1
            nodes = {each: cluster.nodes[each] for each in self._trouble.ready}
            coming = {n: cluster.nodes[n] for n in cluster.living if n not in nodes}
            watcher.look(nodes, self.simulation.loop.time(), self._failed(), coming)
            if looks % _CLOSER == 0:
                look_closely(nodes, watcher)
            if watcher.complaints:
                self._trouble.tell(watcher.complaints[0])
                self._violated(watcher.complaints)
            if self._is_hasty and (self._violations or self._found_inside()):
                self._play.cancel()
                return

    def _failed(self) -> dict[int, float]:
        disks = {each: self.cluster.machine(each).disk for each in self.cluster.ids}
        return {each: d.failed_at for each, d in disks.items() if d.failed_at is not None}

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
                self._members += [
                    Member(stage, each, "classic-group", "classic")
                    for each in ("member-1", "member-2")
                ]
            elif name == "consumer":
                self._members += [
                    Member(stage, each, "consumer-group", "consumer")
                    for each in ("member-3", "member-4")
                ]
        found += [(each.name, each.run()) for each in self._members]
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


def run_many_nodes(seed: int, nodes: int | None = None) -> Result:
    return ManyNodesScenario(seed, Plan.of(seed, nodes)).run()
