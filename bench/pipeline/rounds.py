"""Job by job, round by round, the brokers in turns; of each figure the best round counts."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from bench.pipeline import clicks
from bench.pipeline.jobs import Job, Place
from bench.processes import cpu_seconds
from bench.target import Target, new_topic_name


class WrongResult(Exception):
    """A job ended well and did not do its work."""


@dataclass(frozen=True, slots=True)
class Took:
    """What one run of a job took. `broker_cpu_seconds` is None where the broker's process is not to be seen."""

    seconds: float
    broker_cpu_seconds: float | None


@dataclass(frozen=True, slots=True)
class Result:
    job: Job
    # By the name of the target, one per round.
    rounds: dict[str, list[Took]]

    def best_seconds(self, target: str) -> float:
        return min(took.seconds for took in self.rounds[target])

    def best_cpu_seconds(self, target: str) -> float | None:
        known = [took.broker_cpu_seconds for took in self.rounds[target]]
        return min((cpu for cpu in known if cpu is not None), default=None)


@dataclass(frozen=True, slots=True)
class Plan:
    records: int
    rounds: int
    # A tenth is enough for the compilers of both JVMs to see every path, and the fill before it is the larger part.
    # 0: no warm-up, where only the result counts.
    warm_up_share: float = 0.1

    @property
    def warm_up_records(self) -> int:
        return max(1, round(self.records * self.warm_up_share))


def compare(
    spark: SparkSession,
    jobs: Sequence[Job],
    targets: Sequence[Target],
    plan: Plan,
    progress: Callable[[str], None],
) -> Iterator[Result]:
    """Everything is filled and warm before the first job is measured; the results come one by one."""
    source, small = new_topic_name(), new_topic_name()
    made: list[tuple[Target, str]] = []
    try:
        for target in targets:
            clicks.wake_coordinators(target)
            for topic, count in ((source, plan.records), (small, plan.warm_up_records)):
                progress(f"filling {target.name} with {count:,} records")
                made.append((target, topic))
                clicks.fill(target, topic, count)
        for job in jobs if plan.warm_up_share else ():
            for target in targets:
                progress(f"warming up {target.name}: {job.name}")
                _take(spark, job, target, small, plan.warm_up_records)
        for job in jobs:
            yield _measure(spark, job, targets, source, plan, progress)
    finally:
        for target, topic in made:
            target.delete_topics([topic])


def _measure(
    spark: SparkSession,
    job: Job,
    targets: Sequence[Target],
    source: str,
    plan: Plan,
    progress: Callable[[str], None],
) -> Result:
    result = Result(job, {target.name: [] for target in targets})
    for number in range(1, plan.rounds + 1):
        # Who comes first gets the machine as the other left it: in turns as well.
        for target in targets if number % 2 else reversed(targets):
            progress(f"{job.name}: round {number} of {plan.rounds}, {target.name}")
            result.rounds[target.name].append(_take(spark, job, target, source, plan.records))
    return result


def _take(spark: SparkSession, job: Job, target: Target, source: str, records: int) -> Took:
    sink = new_topic_name()
    folder = Path(tempfile.mkdtemp(prefix="klamm-bench-"))
    if job.writes_topic:
        target.create_topics([sink], partitions=clicks.PARTITIONS)
    try:
        place = Place(clicks.address_of(target), source, sink, folder)
        cpu_before, began = _cpu(target), time.perf_counter()
        read = job.run(spark, place)
        took = Took(time.perf_counter() - began, _spent(cpu_before, _cpu(target)))
        if read != records:
            raise WrongResult(f"{job.name} on {target.name}: {read} of {records} records were read")
        if job.writes_topic:
            _check_output(spark, job, target, sink, records)
        return took
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if job.writes_topic:
            target.delete_topics([sink])


def _check_output(spark: SparkSession, job: Job, target: Target, sink: str, records: int) -> None:
    options = {
        "kafka.bootstrap.servers": clicks.address_of(target),
        "kafka.isolation.level": "read_committed",
        "subscribe": sink,
    }
    written = spark.read.format("kafka").options(**options).load().count()
    expected = clicks.matching(records)
    if written != expected:
        raise WrongResult(f"{job.name} on {target.name}: wrote {written} records, not {expected}")


def _cpu(target: Target) -> float | None:
    return None if target.pid is None else cpu_seconds(target.pid)


def _spent(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
