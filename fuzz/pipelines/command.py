"""`python -m fuzz.pipelines`: so many cases, from this seed on. Exit code 1 says that a sink was not as it must be."""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from chaos.real.broker import BrokerProcess
from pyspark.sql import SparkSession

from fuzz.pipelines.drawing.case import Case
from fuzz.pipelines.killing import Killer
from fuzz.pipelines.running import Place, clear_case, run_case
from klamm.pipeline.jars import Use
from klamm.pipeline.session import SessionSettings, open_session

MOST = 250


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    # So that brokers and drivers go, too, when somebody ends us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    home = Path(tempfile.mkdtemp(prefix="klamm-fuzz-"))
    broker = BrokerProcess(home / "broker")
    tally = _Tally()
    with ExitStack() as running:
        # It goes even if Spark, which somebody may have ended in the middle of a call, does not end well.
        running.callback(broker.kill)
        broker.start()
        spark = _session(home / "lake")
        running.callback(spark.stop)
        place = _place(spark, broker, home)
        for seed in range(options.first, options.first + options.count):
            # A driver of its own takes ten seconds to start.
            with_kills = options.kill_every > 0 and seed % options.kill_every == 0
            _try(seed, place, tally, with_kills=with_kills, most=options.most)
    print(tally, flush=True)
    if tally.bad:
        print(f"the data is in {home}", flush=True)
        return 1
    shutil.rmtree(home)
    return 0


@dataclass(slots=True)
class _Tally:
    cases: int = 0
    records: int = 0
    runs: int = 0
    sinks: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    bad: list[int] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def add(self, case: Case) -> None:
        self.cases += 1
        self.runs += case.runs
        self.records += sum(
            len(chunk.records) for s in case.sources for run in s.runs for chunk in run
        )
        self.sinks += len(case.sinks)
        self.faults.update(fault.kind for faults in case.faults for fault in faults)

    def __str__(self) -> str:
        faults = " ".join(f"{kind}={count}" for kind, count in sorted(self.faults.items()))
        seconds = time.monotonic() - self.began
        return (
            f"pipelines: cases={self.cases} bad={len(self.bad)} runs={self.runs} sinks={self.sinks} "
            f"records={self.records} {faults} {seconds:.0f} s"
        )


def _try(seed: int, place: Place, tally: _Tally, *, with_kills: bool, most: int) -> None:
    began = time.monotonic()
    name = f"fuzz-{seed}"
    case = clear_case(seed, name, place.home / name, most=most, with_kills=with_kills)
    try:
        wrong = run_case(case, place)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        wrong = [f"{type(error).__name__}: {error}", *traceback.format_exc().splitlines()[-6:]]
    tally.add(case)
    seconds = time.monotonic() - began
    print(f"seed {seed}: {case} {'BAD' if wrong else 'ok'} {seconds:.1f} s", flush=True)
    if wrong:
        tally.bad.append(seed)
        for each in wrong:
            print(f"  {each}", flush=True)
        how = f"--most {most} --kill-every {int(with_kills)}"
        print(f"  again: python -m fuzz.pipelines --count 1 --first {seed} {how}", flush=True)
    else:
        shutil.rmtree(case.home)


def _session(warehouse: Path) -> SparkSession:
    return open_session(
        SessionSettings(
            name="fuzz",
            # Each task may fail twice.
            master="local[2,3]",
            uses=tuple(Use),
            warehouse=str(warehouse),
            driver_memory="1g",
            log_level="FATAL",
            # What the second compiler would gain comes too late for queries of some seconds. The first alone has room for
            # the code of a few dozen of them, and then Java only interprets.
            options={
                "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
            },
        )
    )


def _place(spark: SparkSession, broker: BrokerProcess, home: Path) -> Place:
    host, port = broker.address

    def restart() -> None:
        broker.kill()
        broker.start()

    return Place(
        spark=spark,
        bootstrap=f"{host}:{port}",
        warehouse=str(home / "lake"),
        home=home,
        kill=Killer(broker.address, home / "lake"),
        restart_broker=restart,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz.pipelines",
        description="Draw pipelines and records, run them through failures, compare every sink with plain Python.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--count", type=int, default=20, metavar="N", help="so many cases [default: 20]")
    add("--first", type=int, default=random.randrange(10**6), metavar="N", help="the first seed")
    add("--most", type=int, default=MOST, metavar="N", help=f"records of a run [default: {MOST}]")
    add(
        "--kill-every",
        type=int,
        default=10,
        metavar="N",
        help="every so manieth case kills a driver or the broker with SIGKILL; 0: none [default: 10]",
    )
    return parser
