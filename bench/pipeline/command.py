"""`python -m bench.pipeline`: how many records, against whom, how often."""

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from bench.pipeline import jobs, report
from bench.pipeline.rounds import Plan, Result, WrongResult, compare
from bench.processes import KlammProcess, Unready, listener_of, parse_address
from bench.report import Progress
from bench.target import KLAMM, REFERENCE, Refused, Target
from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.jars import JarError, Use
from klamm.pipeline.java import JavaMissing
from klamm.pipeline.session import SessionSettings, open_session
from klamm.pipeline.sinks.trouble import SinkFailed

_FAILURES = (
    OSError,
    Refused,
    Unready,
    WrongResult,
    JarError,
    JavaMissing,
    PipelineFailed,
    SinkFailed,
    PySparkException,
    KafkaException,
)


def main(arguments: Sequence[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        chosen = choose(options.only)
        reference = _reference(options.reference, options.reference_pid)
    except ValueError as mistake:
        parser.error(str(mistake))
    # So that the broker and its directory go, too, when somebody ends us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    plan = Plan(records=options.records, rounds=options.rounds)
    try:
        results = measure(chosen, reference, plan, cores=options.cores)
    except _FAILURES as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    if sys.stdout.isatty():
        report.draw(results, plan.records)
    if options.json is not None:
        lines = [report.as_object(result, plan.records) for result in results]
        options.json.write_text(json.dumps(lines, indent=2) + "\n")
    return 0


def measure(
    chosen: Sequence[jobs.Job], reference: Sequence[Target], plan: Plan, *, cores: int
) -> list[Result]:
    progress = Progress()
    progress("starting klamm and Spark")
    with (
        KlammProcess() as klamm,
        tempfile.TemporaryDirectory(prefix="klamm-bench-") as folder,
    ):
        spark = _session(folder, cores)
        try:
            targets = [Target(KLAMM, klamm.address, klamm.pid), *reference]
            results = []
            for result in compare(spark, chosen, targets, plan, progress):
                results.append(result)
                if not sys.stdout.isatty():
                    print(json.dumps(report.as_object(result, plan.records)), flush=True)
            return results
        finally:
            progress("")
            spark.stop()


def choose(only: str | None) -> list[jobs.Job]:
    """ValueError for a name that is none."""
    by_name = {job.name: job for job in jobs.ALL}
    names = list(by_name) if only is None else [name.strip() for name in only.split(",")]
    if unknown := [name for name in names if name not in by_name]:
        raise ValueError(f"no job {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [job for job in jobs.ALL if job.name in names]


def _session(folder: str, cores: int) -> SparkSession:
    settings = SessionSettings(
        name="bench",
        master=f"local[{cores}]",
        uses=(Use.TOPICS,),
        driver_memory="2g",
        options={"spark.local.dir": folder},
    )
    return open_session(settings)


def _reference(address: str | None, pid: int | None) -> list[Target]:
    if address is None:
        return []
    host, port = parse_address(address)
    return [Target(REFERENCE, (host, port), pid or listener_of(port))]


def _parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {job.name:10}{job.about}" for job in jobs.ALL)
    parser = argparse.ArgumentParser(
        prog="python -m bench.pipeline",
        description="Run Spark jobs on klamm, and the same ones on a reference broker of this machine.",
        epilog=f"jobs:\n{lines}\n\ndocs/performance.md explains the rest.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--records", type=_count, default=2_000_000, metavar="N", help="[default: 2000000]")
    add("--reference", metavar="HOST:PORT", help="a broker that gets the same jobs, on loopback")
    add(
        "--reference-pid",
        type=int,
        metavar="PID",
        help="its process, for the CPU [default: who listens on the port]",
    )
    add("--only", metavar="A,B", help="these jobs instead of all")
    add("--rounds", type=_count, default=3, metavar="N", help="the best one counts [default: 3]")
    add("--cores", type=_count, default=2, metavar="N", help="that Spark may use [default: 2]")
    add("--json", type=Path, metavar="FILE", help="also write the figures to a file")
    return parser


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value
