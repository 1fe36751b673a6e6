"""`make sim-shrink SEED=n`: the shortest schedule that still breaks the same invariant, told as a story.

    python -m klamm.testing.scenarios.shrink SEED [--nodes 3] [--mutant NAME] [--runs 150]

Steps and clients are left out, in large pieces first and then one by one, and the time is cut. A plan counts only if the
invariant that is broken is the same as before: what else may go wrong is another story.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from klamm.testing.mutants import MUTANTS, planted
from klamm.testing.scenarios.many_nodes import ManyNodesScenario, Plan, Step
from klamm.testing.scenarios.result import Result

Run = Callable[[Plan], Result]


@dataclass(slots=True)
class Shrunk:
    plan: Plan
    result: Result
    runs: int

    @property
    def broken(self) -> str:
        return broken_in(self.result)


def broken_in(result: Result) -> str:
    """The invariant that was broken first, without what is told about the case."""
    return result.violations[0].partition(":")[0] if result.violations else ""


def shrink(plan: Plan, run: Run, *, most_runs: int = 150) -> Shrunk | None:
    """None if the plan breaks nothing."""
    found = Shrunk(plan, run(plan), 1)
    if not found.broken:
        return None
    tried = {plan}
    before = None
    while before != found.plan:
        before = found.plan
        for smaller in (_sooner, _fewer_steps, _fewer_actors):
            for change in smaller(before):
                candidate = change(found.plan)
                if candidate in tried or found.runs >= most_runs:
                    continue
                tried.add(candidate)
                result = run(candidate)
                found.runs += 1
                if broken_in(result) == found.broken:
                    found = Shrunk(candidate, result, found.runs)
    return found


Change = Callable[[Plan], Plan]


def _sooner(plan: Plan) -> Iterator[Change]:
    """The trouble ends soon behind its last step."""

    def ends(after: float, plan: Plan) -> Plan:
        last = plan.steps[-1].at if plan.steps else 0.0
        return replace(plan, seconds=min(plan.seconds, last + after))

    return (partial(ends, after) for after in (15.0, 5.0, 1.0))


def _fewer_steps(plan: Plan) -> Iterator[Change]:
    """All, the halves, the quarters, at last each: from the end, where more of them matter to nothing."""

    def without(steps: frozenset[Step], plan: Plan) -> Plan:
        return replace(plan, steps=tuple(each for each in plan.steps if each not in steps))

    size = len(plan.steps)
    while size:
        for start in range((len(plan.steps) - 1) // size * size, -1, -size):
            yield partial(without, frozenset(plan.steps[start : start + size]))
        size //= 2


def _fewer_actors(plan: Plan) -> Iterator[Change]:
    def without(actor: str, plan: Plan) -> Plan:
        return replace(plan, actors=tuple(each for each in plan.actors if each != actor))

    return (partial(without, actor) for actor in reversed(plan.actors))


def tell(before: Plan, shrunk: Shrunk) -> str:
    plan, result = shrunk.plan, shrunk.result
    lines = [
        f"seed {result.seed}: {len(before.steps)} steps became {len(plan.steps)}, "
        f"{len(before.actors)} clients {len(plan.actors)}, in {shrunk.runs} runs",
        f"{plan.nodes} nodes ({plan.roles}){' with an open quorum' * plan.has_open_quorum}, "
        f"clients: {', '.join(plan.actors) or 'none'}; segments of {plan.segment_bytes} bytes, "
        f"snapshots every {plan.snapshot_bytes}, windows of {plan.window}",
        *(f"{when:9.3f}  {text}" for when, text in result.story),
        f"{result.seconds:9.3f}  the end, and what is wrong:",
        *(f"           {text}" for text in dict.fromkeys(result.violations)),
    ]
    return "\n".join(lines)


def main() -> int:
    asked = _arguments()
    plan = Plan.of(asked.seed, asked.nodes or None)

    def run(tried: Plan) -> Result:
        return ManyNodesScenario(asked.seed, tried, is_hasty=True).run()

    with planted(asked.mutant) if asked.mutant else nullcontext():
        shrunk = shrink(plan, run, most_runs=asked.runs)
    if shrunk is None:
        print(f"seed {asked.seed} breaks nothing")
        return 0
    print(tell(plan, shrunk))
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Find the shortest schedule that still fails.")
    parser.add_argument("seed", type=int)
    parser.add_argument("--nodes", type=int, default=0, choices=[0, 3, 4, 5])
    parser.add_argument("--mutant", choices=list(MUTANTS), help="with this bug planted")
    parser.add_argument("--runs", type=int, default=150, help="at most")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
