"""One workload on every target, in turns, so that a disturbance of the machine meets all of them alike."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.figures import Figures, best
from bench.target import Target
from bench.workload import Workload

# For a broker that is measured alone. A reference may need longer: see `compare`.
_SHORT_WARM_UP = 0.25


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
    # A JVM compiles while it runs: beside a reference, the first round is long and counts for nobody.
    warm_up = plan.seconds if len(targets) > 1 else plan.seconds * _SHORT_WARM_UP
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
                load.measure(warm_up)
        for number in range(1, rounds + 1):
            for name, load in loads.items():
                progress(f"{workload.name}: round {number} of {rounds}, {name}")
                seen[name].append(load.measure(plan.seconds))
    return Result(workload, {name: best(figures) for name, figures in seen.items()})
