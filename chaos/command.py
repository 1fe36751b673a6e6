"""`python -m chaos`: the long runs. Exit code 1 says that a promise was broken; the seed it prints breaks it again."""

import argparse
import logging
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from chaos.power.log_check import check_recovery
from chaos.power.log_scenario import LogScenario
from chaos.power.metadata_scenario import MetadataScenario, check_metadata
from chaos.power.moments import Crash, Recorder, try_all
from chaos.power.node_scenario import NodeScenario, check_node
from chaos.real import crowd
from chaos.real.kill_cycles import Cycle, KillCycles

Promise = TypeVar("Promise")


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    parts = {
        "logs": lambda: _crash_logs(options.seeds, options.seed),
        "metadata": lambda: _crash_metadata(options.seeds, options.seed),
        "node": lambda: _crash_node(options.seeds, options.seed),
        "kill": lambda: _kill(options.cycles, options.seed),
        "crowd": lambda: _crowd(options.connections),
    }
    chosen = options.only.split(",") if options.only else list(parts)
    unknown = [name for name in chosen if name not in parts]
    if unknown:
        print(f"chaos: no part {', '.join(unknown)}; there are {', '.join(parts)}", file=sys.stderr)
        return 2
    # So that brokers go, too, when somebody ends us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # Nodes in this process tell of every torn end they cut off.
    logging.getLogger("klamm").setLevel(logging.CRITICAL)
    print(f"seed {options.seed}", flush=True)
    for name in chosen:
        parts[name]()
    return 0


# Power failures ---------------------------------------------------------------------------------


def _crash_logs(seeds: int, first: int) -> None:
    for seed in range(first, first + seeds):
        scenario = LogScenario(seed)
        scenario.run(actions=200)
        _crash_everywhere("logs", seed, scenario.recorder, check_recovery)


def _crash_metadata(seeds: int, first: int) -> None:
    for seed in range(first, first + seeds):
        scenario = MetadataScenario(seed)
        scenario.run(actions=60)
        check = partial(check_metadata, scenario)
        _crash_everywhere("metadata", seed, scenario.recorder, check)


def _crash_node(seeds: int, first: int) -> None:
    for seed in range(first, first + seeds):
        scenario = NodeScenario(seed)
        scenario.run(actions=150)
        _crash_everywhere("node", seed, scenario.recorder, check_node)


def _crash_everywhere(
    name: str,
    seed: int,
    recorder: Recorder[Promise],
    check: Callable[[Crash[Promise]], None],
) -> None:
    began = time.monotonic()
    count = try_all(recorder, check)
    seconds = time.monotonic() - began
    print(f"{name}: seed={seed} steps={recorder.steps} crashes={count} {seconds:.0f} s", flush=True)


# Kills ------------------------------------------------------------------------------------------


def _kill(cycles: int, seed: int) -> None:
    home = Path(tempfile.mkdtemp(prefix="klamm-chaos-"))
    began = time.monotonic()
    verdict = KillCycles(home, seed=seed).run(cycles, _tell)
    print(f"kill: cycles={cycles} {verdict} {time.monotonic() - began:.0f} s", flush=True)
    if not verdict.is_good:
        print(f"kill: the data is in {home}", flush=True)
        sys.exit(1)
    shutil.rmtree(home)


def _tell(cycle: Cycle) -> None:
    if cycle.number % 10 == 0 or not cycle.verdict.is_good:
        print(f"kill: cycle={cycle.number} {cycle.seconds:.1f} s {cycle.verdict}", flush=True)


# Connections ------------------------------------------------------------------------------------


def _crowd(connections: int) -> None:
    with tempfile.TemporaryDirectory(prefix="klamm-chaos-") as home:
        held = crowd.hold(Path(home), connections)
    print(f"crowd: {held}", flush=True)
    if not held.is_good:
        sys.exit(1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chaos",
        description="Crash klamm at every step of long scenarios, kill it under load, crowd it.",
        epilog="Faults of disks are in tests/crash/test_disk_faults.py: they are short as they are.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--cycles", type=int, default=200, metavar="N", help="kills under load [default: 200]")
    add("--seeds", type=int, default=3, metavar="N", help="scenarios of each kind [default: 3]")
    add("--seed", type=int, default=random.randrange(10**6), metavar="N", help="of the first one")
    add("--connections", type=int, default=15_000, metavar="N", help="of a crowd [default: 15000]")
    add("--only", metavar="A,B", help="of logs, metadata, node, kill, crowd")
    return parser
