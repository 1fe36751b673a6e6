"""Load, faults, quiet, a look at everything; again and again. Every so often with new topics and new clients."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import TypeVar

from chaos.cluster import looking
from chaos.cluster.asking import ask
from chaos.cluster.checker.check import Finding, check, notes
from chaos.cluster.checker.evidence import Evidence
from chaos.cluster.checker.history import NEVER, Outcome
from chaos.cluster.faults import KINDS, Scene
from chaos.cluster.nodes.nodes import Nodes
from chaos.cluster.workload.copiers import GROUP as COPIERS
from chaos.cluster.workload.crowd import CLASSIC, SERVER_SIDE, Crowd
from chaos.cluster.workload.stage import Stage
from klamm.base.errors import ApiError
from klamm.client import Admin

T = TypeVar("T")
# How long a healed cluster may take for each thing that must come about; safety has no such limit.
PATIENCE_SECONDS = 240.0
_ADMIN_MS = 20_000


class Stuck(Exception):
    """Something that must come about when all faults are over did not."""


@dataclass(slots=True)
class Figures:
    """Of all cycles so far."""

    cycles: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    acknowledged: int = 0
    transactions: int = 0
    aborted: int = 0
    read: int = 0
    commits: int = 0
    resent_by_client: int = 0
    stuck_clients: int = 0
    longest_silence: float = 0.0

    def __str__(self) -> str:
        return (
            f"cycles={self.cycles} faults={self.faults.total()} sent={self.sent}"
            f" acknowledged={self.acknowledged} committed={self.transactions}"
            f" aborted={self.aborted} read={self.read} offset_commits={self.commits}"
            f" longest_silence={self.longest_silence:.1f} s"
            f" resent_by_client={self.resent_by_client} stuck_clients={self.stuck_clients}"
        )


@dataclass(frozen=True, slots=True)
class Cycle:
    number: int
    seconds: float
    deeds: Sequence[str]
    findings: Sequence[Finding]
    evidence: Evidence


class Era:
    """Topics and clients that live for some cycles."""

    def __init__(self, nodes: Nodes, seed: int) -> None:
        self._nodes = nodes
        # A cluster that is not ours may still have those of an earlier run.
        run = f"{seed}-{int(time.time())}"
        plain, moved, copies = (f"{name}-{run}" for name in ("plain", "moved", "copies"))
        self.replicas = {plain: 3, moved: 2, copies: 3}
        self.stage = Stage(
            bootstrap=nodes.bootstrap,
            topics={plain: 3, moved: 2, copies: 2},
            shared=(plain, moved),
            source=plain,
            target=copies,
            seed=seed,
        )
        self.crowd = Crowd(self.stage)

    def begin(self) -> None:
        for topic, count in self.stage.topics.items():
            self._ask(
                lambda admin, topic=topic, count=count: admin.topics.create(
                    topic,
                    partitions=count,
                    replication_factor=self.replicas[topic],
                    configs={"min.insync.replicas": "2"},
                )
            )
        # Whoever asks a broker that has not heard of a topic is told that there is none.
        self._until(lambda: self._ask(looking.is_whole), "all replicas are in sync")
        self.crowd.start()

    def rest(self) -> Evidence:
        """All is quiet, and has been looked at."""
        stage, bootstrap = self.stage, self._nodes.bootstrap
        stage.writers.close()
        self._until(lambda: stage.writers.resting >= set(self.crowd.writers), "writers rest")
        self._until(lambda: self._ask(looking.is_whole), "all replicas are in sync")
        self._until(self._is_stable, "no transaction is open")
        written = looking.scan(bootstrap, stage.places(*stage.shared))
        evidence = Evidence(stage.history, written)
        self._until(
            lambda: not self._behind(evidence),
            "groups have read all there is",
            seen=lambda: self._behind(evidence),
        )
        stage.readers.close()
        self._until(lambda: stage.readers.resting >= set(self.crowd.readers), "readers rest")
        self._until(self._is_stable, "no transaction is open")
        return self._look()

    def go_on(self) -> None:
        self.stage.readers.open()
        self.stage.writers.open()

    def end(self) -> None:
        left = self.crowd.end(PATIENCE_SECONDS)
        if left:
            raise Stuck(f"{', '.join(left)} did not come to an end")
        for topic in self.stage.topics:
            self._ask(lambda admin, topic=topic: admin.topics.delete(topic))

    def _look(self) -> Evidence:
        stage, bootstrap = self.stage, self._nodes.bootstrap
        places = stage.places()
        evidence = Evidence(stage.history, looking.scan(bootstrap, places))
        confluent, klamm = looking.read_with_confluent, looking.read_with_klamm
        # Each kind of client takes its turn with each kind of reading.
        if len(stage.history.polls) % 2:
            confluent, klamm = klamm, confluent
        evidence.final_committed[f"last {confluent.__name__}"] = confluent(
            bootstrap, places, is_committed=True
        )
        evidence.final_uncommitted[f"last {klamm.__name__}"] = klamm(
            bootstrap, places, is_committed=False
        )
        evidence.offsets = self._offsets()
        evidence.copies[stage.target] = stage.source
        return evidence

    def _offsets(self) -> dict:
        stage = self.stage
        groups = {CLASSIC: stage.shared, SERVER_SIDE: stage.shared, COPIERS: (stage.source,)}
        found = {}
        for group, topics in groups.items():
            places = stage.places(*topics)
            found |= self._ask(lambda admin, g=group, p=places: looking.offsets_of(admin, g, p))
        return found

    def _behind(self, evidence: Evidence) -> list[str]:
        """Who has not read what."""
        return [
            f"{group} is at {place}@{found.offset} of {evidence.visible[place][-1]}"
            for (group, place), found in self._offsets().items()
            if found.offset <= max(evidence.visible[place], default=-1)
        ]

    def _is_stable(self) -> bool:
        return looking.are_stable(self._nodes.bootstrap, self.stage.places())

    def _ask(self, work: Callable[[Admin], T]) -> T:
        return ask(self._nodes.bootstrap, work, timeout_ms=_ADMIN_MS)

    def _until(
        self, look: Callable[[], bool], what: str, seen: Callable[[], object] = lambda: ""
    ) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            if self.stage.troubles:
                raise Stuck(self.stage.troubles[0])
            with suppress(ApiError):
                if look():
                    return
            if time.monotonic() > deadline:
                resting = sorted(self.stage.writers.resting | self.stage.readers.resting)
                raise Stuck(
                    f"not within {PATIENCE_SECONDS:.0f} s: {what}; {seen()}; {resting} rest"
                )
            time.sleep(0.05)


class Cycles:
    def __init__(
        self,
        nodes: Nodes,
        *,
        seed: int,
        faults: Sequence[str],
        era_cycles: int = 10,
        most_at_once: int = 3,
    ) -> None:
        self.figures = Figures()
        self._nodes = nodes
        self._chance = Random(seed)
        self._seed = seed
        self._faults = list(faults)
        self._era_cycles = era_cycles
        self._most_at_once = most_at_once
        self._era: Era | None = None

    def run(self, cycles: int, tell: Callable[[Cycle], None]) -> bool:
        """True if all is well. Ends at the first cycle that is not."""
        for number in range(1, cycles + 1):
            began = time.monotonic()
            if self._era is None:
                self._era = Era(self._nodes, self._seed + number)
                self._era.begin()
            loaded = time.monotonic()
            deeds = self._disturb(self._era)
            healed = time.monotonic()
            evidence = self._era.rest()
            self._note_silence(evidence, loaded, healed)
            findings = check(evidence)
            cycle = Cycle(number, time.monotonic() - began, deeds, findings, evidence)
            self.figures.cycles = number
            is_last = number % self._era_cycles == 0 or number == cycles
            if is_last or cycle.findings:
                self._count(evidence)
                self.figures.stuck_clients += len(self._era.stage.stuck_clients)
            tell(cycle)
            if cycle.findings:
                return False
            self._era.go_on()
            if is_last:
                self._era.end()
                self._era = None
        return True

    def _disturb(self, era: Era) -> list[str]:
        chance = self._chance
        scene = Scene(self._nodes, chance, era.replicas)
        deeds: list[str] = []
        scene.wait(0.3, 1.2)
        with ExitStack() as under_way:
            for name in self._choose(min(chance.choice((1, 1, 2, 3)), self._most_at_once)):
                deeds.append(under_way.enter_context(KINDS[name].fault(scene)))
                self.figures.faults[name] += 1
                scene.wait(0.1, 2)
            scene.wait(0, 1)
        # Two faults may have met: what one has started, the other may have killed.
        for node in self._nodes.ids:
            self._nodes.resume(node)
        self._nodes.start()
        scene.wait(0, 0.5)
        return deeds

    def _choose(self, count: int) -> list[str]:
        weights = [KINDS[name].weight for name in self._faults]
        chosen = self._chance.choices(self._faults, weights, k=count)
        return list(dict.fromkeys(chosen))

    def _note_silence(self, evidence: Evidence, since: float, until: float) -> None:
        """The longest time in which nothing was acknowledged to anybody."""
        done = sorted(
            each.completed
            for each in evidence.history.sends
            if each.outcome is Outcome.OK and since < each.completed < until
        )
        gaps = [later - before for before, later in pairwise([since, *done, until])]
        self.figures.longest_silence = max(self.figures.longest_silence, *gaps)

    def _count(self, evidence: Evidence) -> None:
        history, figures = evidence.history, self.figures
        figures.sent += len(history.sends)
        figures.acknowledged += sum(each.outcome is Outcome.OK for each in history.sends)
        figures.transactions += sum(each.is_committed for each in history.transactions)
        figures.aborted += sum(each.is_aborted for each in history.transactions)
        figures.read += sum(len(poll.records) for poll in history.polls)
        figures.commits += sum(each.completed < NEVER for each in history.commits)
        figures.resent_by_client += sum(each.count for each in notes(evidence))
