"""Runs a case: feeds it, runs it, does to it what was drawn, and runs it to its end, in a session that is there."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.pipelines import checking, oracle
from fuzz.pipelines.clock import Unclear
from fuzz.pipelines.drawing.case import Case, draw
from fuzz.pipelines.faults import BROKER, FORGET, KILL, Fault, Injected, forget, injected
from fuzz.pipelines.feeding import Feeder, create_topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USERLAND = Path(__file__).with_name("userland")
SPILL = "spark.shuffle.spill.numElementsForceSpillThreshold"
_MOST_ATTEMPTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where cases run. `kill` and `restart_broker` are for those that have processes of their own."""

    spark: "SparkSession"
    bootstrap: str
    warehouse: str
    home: Path
    kill: Callable[[Case, int, Fault], None] | None = None
    restart_broker: Callable[[], None] | None = None


def clear_case(
    seed: int, name: str, home: Path, *, most: int, most_runs: int = 4, with_kills: bool = False
) -> Case:
    """The first case of this seed in which no record's fate depends on where Spark cuts batches."""
    for attempt in range(_MOST_ATTEMPTS):
        case = draw(
            seed,
            name,
            home,
            attempt=attempt,
            most=most,
            most_runs=most_runs,
            with_kills=with_kills,
        )
        try:
            for sink in case.sinks:
                oracle.expected(case, sink)
        except Unclear:
            continue
        return case
    raise AssertionError(f"seed {seed}: {_MOST_ATTEMPTS} cases, and none is clear")


def run_case(case: Case, place: Place) -> list[str]:
    """What is wrong afterwards."""
    case.write()
    create_topics(place.bootstrap, case)
    feeder = Feeder(place.bootstrap)
    with _own_folders(case.home), _spilling(place.spark, case.spill_after):
        for run in range(case.runs):
            for source in case.sources:
                feeder.send(source, run)
            for fault in case.faults[run]:
                _suffer(case, run, fault, place)
            _run(case, run, None, place)
            if any(_forget(case, fault) for fault in case.faults[run]) and run == case.runs - 1:
                _run(case, run, None, place)
        return checking.problems(
            case, place.spark, place.bootstrap, place.warehouse, feeder.offsets
        )


def _suffer(case: Case, run: int, fault: Fault, place: Place) -> None:
    match fault.kind:
        case kind if kind == FORGET:
            pass  # Only when there is something to forget.
        case kind if kind == KILL:
            assert place.kill is not None
            place.kill(case, run, fault)
        case kind if kind == BROKER:
            assert place.restart_broker is not None
            place.restart_broker()
        case _:
            _run(case, run, fault, place)


def _forget(case: Case, fault: Fault) -> bool:
    return fault.kind == FORGET and forget(case.home / "checkpoint", fault.at) is not None


def _run(case: Case, run: int, fault: Fault | None, place: Place) -> None:
    from klamm.pipeline.failures.trouble import PipelineFailed
    from klamm.pipeline.running.run import run as run_pipeline
    from klamm.pipeline.spec import from_dict

    stop = threading.Event()
    with injected(fault, stop):
        try:
            run_pipeline(
                from_dict(case.facts(run)),
                bootstrap=place.bootstrap,
                once=True,
                checkpoint=str(case.home / "checkpoint"),
                warehouse=place.warehouse,
                folder=USERLAND,
                spark=place.spark,
                stop=stop,
                notice=lambda _: None,
            )
        except PipelineFailed as failure:
            if fault is None or Injected.__name__ not in str(failure) + repr(failure.__cause__):
                raise


@contextmanager
def _own_folders(home: Path) -> Iterator[None]:
    """Runs are registered per user; these are nobody's business."""
    names = ("XDG_STATE_HOME", "XDG_DATA_HOME")
    before = {name: os.environ.get(name) for name in names}
    os.environ |= {"XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "data")}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _spilling(spark: "SparkSession", after: int | None) -> Iterator[None]:
    """Sorts that have so many rows go to the disk. Spark asks for it whenever a sort begins."""
    if after is None:
        yield
        return
    assert spark._jvm is not None
    conf = spark._jvm.org.apache.spark.SparkEnv.get().conf()
    before = conf.getOption(SPILL)
    conf.set(SPILL, str(after))
    try:
        yield
    finally:
        if before.isDefined():
            conf.set(SPILL, before.get())
        else:
            conf.remove(SPILL)
