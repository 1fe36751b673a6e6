"""What a seed has chosen: who takes part, how large things are, and what goes wrong when.

All of it is decided before anything happens, so that a plan can be made shorter and tried again (shrink.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

# Twice: more often than others.
FAULTS = (
    "kill",
    "kill",
    "power",
    "pause",
    "cut",
    "one way",
    "ring",
    "reset",
    "lossy",
    "slow node",
    "clock",
    "restart",
    "kill all",
    "elect",
    "full disk",
    "broken disk",
    "slow disk",
    "reassign",
    "voters",
    "crash in the middle",
)
_ACTORS = ("transactor-1", "transactor-2", "classic", "consumer", "reader", "admin")
# Virtual seconds between two faults, on average.
_BETWEEN = (3.0, 6.0, 12.0)


@dataclass(frozen=True, slots=True)
class Step:
    """One fault: when, in virtual seconds from the beginning of the trouble, and what.

    What else it needs (which node, for how long) it draws by its number: steps that are left out change no others.
    """

    at: float
    fault: str
    number: int


@dataclass(frozen=True, slots=True)
class Plan:
    nodes: int
    # x is broker and controller, c a controller only, b a broker only, o both, but no voter yet.
    roles: str
    # The voters stand in the log and may change.
    has_open_quorum: bool
    seconds: float
    steps: tuple[Step, ...]
    actors: tuple[str, ...]
    segment_bytes: int
    snapshot_bytes: int
    # Of one direction of a connection, and of an answer to a follower.
    window: int
    replica_fetch_bytes: int
    # How long brokers may be silent before others take over.
    session_ms: int
    # Between two looks at all the nodes.
    watch_seconds: float = 0.05

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(step.fault for step in self.steps))

    @classmethod
    def of(cls, seed: int, nodes: int | None = None) -> Plan:
        rng = Random(f"{seed}/cluster plan")
        count = nodes or rng.choice((3, 3, 3, 4, 5))
        is_open = nodes is None and rng.random() < 0.25
        is_apart = nodes is None and not is_open and rng.random() < 0.2
        if is_open:
            count, roles = 4, "xxxo"
        else:
            count, roles = (6, "cccbbb") if is_apart else (count, "xxx".ljust(count, "b"))
        kinds = [each for each in FAULTS if each != "voters" or is_open]
        some = list(dict.fromkeys(rng.sample(kinds, rng.randint(1, 6))))
        if is_open and "voters" not in some:
            some.append("voters")
        seconds = rng.choice((20.0, 40.0, 60.0))
        writers = ("writer-1", "writer-2")[: rng.randint(1, 2)]
        return cls(
            nodes=count,
            roles=roles,
            has_open_quorum=is_open,
            seconds=seconds,
            steps=_steps(rng, some, seconds),
            actors=(*writers, *rng.sample(_ACTORS, rng.randint(1, 4))),
            segment_bytes=rng.choice((600, 3_000, 20_000)),
            snapshot_bytes=rng.choice((2_000, 20_000, 20 << 20)),
            window=rng.choice((2_000, 64 * 1024, 64 * 1024)),
            replica_fetch_bytes=rng.choice((1_000, 1 << 20, 1 << 20)),
            session_ms=rng.choice((2_000, 3_000, 9_000)),
        )


def _steps(rng: Random, faults: list[str], seconds: float) -> tuple[Step, ...]:
    between = rng.choice(_BETWEEN)
    found: list[Step] = []
    at = rng.expovariate(1 / between)
    while at < seconds or not found:
        found.append(Step(round(min(at, seconds), 3), rng.choice(faults), len(found)))
        at += rng.expovariate(1 / between)
    return tuple(found)
