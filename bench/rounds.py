"""One workload on every target, in turns, so that a disturbance of the machine meets all of them alike."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.figures import Figure, Figures, best
from bench.target import Target
from bench.workload import Load, Workload

# A JVM compiles while it runs. It is warm when a round brings less than this over the best before it.
_WARM_GAIN = 1.05
_MAX_WARM_UP_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Result:
    workload: Workload
    # By the name of the target: the best that it reached.
    figures: dict[str, Figures]


def compare(
    workload: Workload, targets: Sequence[Target], plan: Plan, progress: Callable[[str], None]
) -> Result:
    """Prepare everywhere, warm up, then round by round. The best of each figure counts."""
    if workload.is_own_broker:
        targets = targets[:1]
    rounds = min(plan.rounds, workload.max_rounds or plan.rounds)
    seen: dict[str, list[Figures]] = {target.name: [] for target in targets}
    with ExitStack() as stack:
        loads = {}
        for target in targets:
            progress(f"{workload.name}: preparing {target.name}")
            loads[target.name] = workload.prepare(target)
            stack.callback(loads[target.name].close)
        if workload.warms_up:
            for name, load in loads.items():
                progress(f"{workload.name}: warming up {name}")
                _warm_up(load, plan.seconds)
        for number in range(1, rounds + 1):
            for name, load in loads.items():
                progress(f"{workload.name}: round {number} of {rounds}, {name}")
                seen[name].append(load.measure(plan.seconds))
    return Result(workload, {name: best(figures) for name, figures in seen.items()})


def _warm_up(load: Load, seconds: float) -> None:
    """Rounds that count for nobody, until they no longer get better."""
    fastest = 0.0
    for _ in range(_MAX_WARM_UP_ROUNDS):
        rate = load.measure(seconds)[Figure.REQUESTS_PER_SECOND]
        if rate < fastest * _WARM_GAIN:
            return
        fastest = rate
