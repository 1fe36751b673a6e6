"""`python -m bench`: which workloads, against whom, for how long."""

import argparse
import json
import os
import platform
import signal
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import report, workloads
from bench.connection import UnexpectedAnswer
from bench.processes import KlammProcess, Unready, listener_of, parse_address
from bench.rounds import Plan, Result, compare
from bench.target import KLAMM, REFERENCE, Refused, Target
from bench.workload import Workload

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def main(arguments: Sequence[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        chosen = choose(options.only, big=options.big, clients=options.clients)
        tls = (
            None
            if options.tls is None
            else ssl.create_default_context(cafile=options.tls / "ca.pem")
        )
        reference = _reference(options.reference, options.reference_pid, tls)
    except (ValueError, OSError) as mistake:
        parser.error(str(mistake))
    # So that the broker and its directory go, too, when somebody ends us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    plan = Plan(rounds=options.rounds, seconds=options.seconds)
    try:
        results = measure(chosen, reference, plan, certificates=options.tls, tls=tls)
    except (OSError, Refused, UnexpectedAnswer, Unready) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    if sys.stdout.isatty():
        report.draw(results)
    if options.json is not None:
        options.json.write_text(json.dumps(_document(plan, results), indent=2) + "\n")
    return 0


def measure(
    chosen: Sequence[Workload],
    reference: Sequence[Target],
    plan: Plan,
    *,
    certificates: Path | None = None,
    tls: ssl.SSLContext | None = None,
) -> list[Result]:
    progress = report.Progress()
    progress("starting klamm")
    results = []
    with KlammProcess(certificates) as klamm:
        targets = [Target(KLAMM, klamm.address, klamm.pid, tls), *reference]
        for workload in chosen:
            results.append(compare(workload, targets, plan, progress))
            if not sys.stdout.isatty():
                print(report.json_line(results[-1]), flush=True)
    progress("")
    return results


def choose(only: str | None, *, big: bool = False, clients: bool = False) -> list[Workload]:
    """ValueError for a name that is none."""
    if clients:
        return [workload for workload in workloads.ALL if workload.is_real_client]
    if only is None:
        usual = [workload for workload in workloads.ALL if not workload.is_real_client]
        return [workload for workload in usual if big or not workload.is_big]
    by_name = {workload.name: workload for workload in workloads.ALL}
    names = [name.strip() for name in only.split(",")]
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise ValueError(f"no workload {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [workload for workload in workloads.ALL if workload.name in names]


def _reference(address: str | None, pid: int | None, tls: ssl.SSLContext | None) -> list[Target]:
    if address is None:
        return []
    host, port = parse_address(address)
    if host not in _LOOPBACK:
        raise ValueError(f"{host} is not this machine: a reference runs beside klamm, on loopback")
    return [Target(REFERENCE, (host, port), pid or listener_of(port), tls)]


def _document(plan: Plan, results: Sequence[Result]) -> dict[str, object]:
    machine = {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
    how = {"rounds": plan.rounds, "seconds": plan.seconds}
    return {"machine": machine, "plan": how, "results": [report.as_object(r) for r in results]}


def _parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {w.name:18}{w.about}" for w in workloads.ALL)
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure klamm, alone or beside a reference broker on this machine.",
        epilog=f"workloads:\n{lines}\n\ngroups and idle run only with --big or by name, real clients with --clients. docs/performance.md explains the rest.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--reference", metavar="HOST:PORT", help="a broker that gets the same load, on loopback")
    add(
        "--reference-pid",
        type=int,
        metavar="PID",
        help="its process, for CPU and memory [default: who listens on the port]",
    )
    add(
        "--tls",
        type=Path,
        metavar="DIR",
        help="by TLS, with the certificates of this folder (`klamm certs create --dir DIR`); the reference needs them, too",
    )
    add("--only", metavar="A,B", help="these workloads instead of all")
    add(
        "--seconds",
        type=_positive,
        default=1.0,
        metavar="S",
        help="length of a round [default: 1]",
    )
    add("--rounds", type=_count, default=3, metavar="N", help="the best one counts [default: 3]")
    add("--json", type=Path, metavar="FILE", help="also write everything to a file")
    add("--big", action="store_true", help="also what needs many partitions and connections")
    add(
        "--clients",
        action="store_true",
        help="real clients only; Java's need KAFKA_LIBS, the folder of Kafka's jars",
    )
    return parser


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def _positive(text: str) -> float:
    value = float(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value
