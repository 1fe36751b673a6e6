"""`make sim`: many seeds, each a world of its own, and one line of figures at the end.

    python -m klamm.testing.simulate [--nodes 3] [--seeds 100] [--first 0] [--workers 2]

Without --nodes each seed chooses how many nodes its cluster has; 1 is a node alone.

Ends with 1 if an invariant was broken, and prints for each such seed the one line that repeats it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from klamm.testing.scenarios.many_nodes import run_many_nodes
from klamm.testing.scenarios.one_node import run_one_node
from klamm.testing.scenarios.result import Result, Totals

_BAR = 40


def main() -> int:
    asked = _arguments()
    seeds = range(asked.first, asked.first + asked.seeds)
    totals = Totals()
    began = time.monotonic()
    cpu = 0.0
    for result, seconds in _results(seeds, asked.nodes, asked.workers):
        cpu += seconds
        totals.add(result)
        _show(totals, asked.seeds)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    for result in totals.failed:
        _tell(result, asked.nodes)
    print(
        f"{totals.seeds} seeds, {totals.operations:,} operations, {totals.events:,} events, "
        f"{totals.crashes} crashes, {totals.seconds / max(cpu, 1e-9):,.0f} virtual seconds per CPU second, "
        f"{time.monotonic() - began:.0f} s, {len(totals.failed)} violated"
    )
    return 1 if totals.failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Simulate, and hold the invariants against it.")
    parser.add_argument(
        "--nodes", type=int, default=0, choices=[0, 1, 3, 4, 5], help="0: as each seed chooses"
    )
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    return parser.parse_args()


def run_seed(seed: int, nodes: int = 0) -> tuple[Result, float]:
    """A result, and the CPU seconds that it took. What breaks the simulation itself is a violation, too."""
    began = time.process_time()
    try:
        result = run_one_node(seed) if nodes == 1 else run_many_nodes(seed, nodes or None)
    except Exception:  # noqa: BLE001 - told with its traceback
        result = Result.broken(seed, traceback.format_exc())
    return result, time.process_time() - began


def _results(seeds: Iterable[int], nodes: int, workers: int) -> Iterator[tuple[Result, float]]:
    run = partial(run_seed, nodes=nodes)
    if workers <= 1:
        yield from map(run, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap(run, seeds)


def _show(totals: Totals, seeds: int) -> None:
    if sys.stderr.isatty():
        done = totals.seeds * _BAR // seeds
        text = f"\r[{'#' * done}{'.' * (_BAR - done)}] {totals.seeds}/{seeds}"
        print(text, end="", file=sys.stderr, flush=True)


def _tell(result: Result, nodes: int) -> None:
    chosen = f"NODES={nodes} " if nodes else ""
    print(f"seed {result.seed} at {_commit()}: make sim {chosen}FIRST={result.seed} SEEDS=1")
    if nodes != 1:
        print(f"    its shortest story: make sim-shrink {chosen}SEED={result.seed}")
    for text in result.violations[:5]:
        print(f"    {text}")


def _commit() -> str:
    asked = ["git", "rev-parse", "--short", "HEAD"]
    try:
        found = subprocess.run(asked, capture_output=True, cwd=Path(__file__).parent, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "an unknown commit"
    return found.stdout.decode().strip()


if __name__ == "__main__":
    sys.exit(main())
