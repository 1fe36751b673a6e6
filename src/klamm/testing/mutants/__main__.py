"""`make sim-mutants`: plant each bug and simulate seed after seed until it is found.

    python -m klamm.testing.mutants [--seeds 200] [--first 0] [--workers 2] [NAME...]

The last line says how many were found. Ends with 1 if any was not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from klamm.testing.mutants import MUTANTS, planted
from klamm.testing.scenarios.many_nodes import ManyNodesScenario, Plan


class Hunt(NamedTuple):
    name: str
    # Seeds that were tried, and CPU seconds that it took.
    tried: int
    seconds: float
    # The seed that found it, and what was wrong; None if none did.
    seed: int | None
    violation: str


def first_violation(seed: int) -> str | None:
    """Of the nodes as they are now, perhaps with a bug planted. What stops a simulation counts, too."""
    try:
        found = ManyNodesScenario(seed, Plan.of(seed), is_hasty=True).run().violations
    except Exception as e:  # noqa: BLE001 - it is told
        return f"the simulation itself ended: {e!r}"
    return found[0] if found else None


def hunt(name: str, seeds: range) -> Hunt:
    began = time.process_time()
    with planted(name):
        for tried, seed in enumerate(seeds, 1):
            if (violation := first_violation(seed)) is not None:
                return Hunt(name, tried, time.process_time() - began, seed, violation)
    return Hunt(name, len(seeds), time.process_time() - began, None, "")


def main() -> int:
    asked = _arguments()
    names = asked.names or list(MUTANTS)
    hunts = []
    for each in _hunts(names, range(asked.first, asked.first + asked.seeds), asked.workers):
        hunts.append(each)
        told = f"seed {each.seed}: {each.violation}"[:150] if each.violation else "NOT FOUND"
        print(f"{each.name}\n    {MUTANTS[each.name].says}\n    {each.tried} seeds, ", end="")
        print(f"{each.seconds:.0f} s of CPU; {told}", flush=True)
    found = [each for each in hunts if each.seed is not None]
    soon = sum(each.tried <= 20 for each in found)
    print(f"{len(found)} of {len(hunts)} found, {soon} of them within 20 seeds")
    return 0 if len(found) == len(hunts) else 1


def _hunts(names: list[str], seeds: range, workers: int) -> Iterator[Hunt]:
    run = partial(hunt, seeds=seeds)
    if workers <= 1:
        yield from map(run, names)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap(run, names)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Plant bugs, and see that they are found.")
    parser.add_argument("--seeds", type=int, default=200, help="tried at most for each")
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("names", nargs="*", choices=[*MUTANTS, []], help="only these")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
