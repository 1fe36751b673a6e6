"""Over how many partitions rows are spread by key: each is a task of every batch, and a store of its own where there is
state.

Spark's default, 200, is for clusters of hundreds of cores. And it matters for long: the number with which a query's first
batch ran is written into its checkpoint, and every later run takes it from there.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from klamm.pipeline.spec import DedupeStep, Pipeline, SqlStep, StateStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
LEAST = 4
_MOST = 200
_EXECUTORS_SECONDS = 30.0
_STEADY_SECONDS = 5.0
_LOOK_SECONDS = 0.25
_KEEPS_STATE = re.compile(r"\b(group|join|distinct|window|session_window)\b", re.IGNORECASE)


class Names(Protocol):
    """The folder of a checkpoint."""

    def names(self, below: str = "") -> list[str]: ...
    def read_text(self, below: str) -> str: ...


def partitions_for(cores: int) -> int:
    return min(max(cores, LEAST), _MOST)


def may_have_state(pipeline: Pipeline) -> bool:
    """As far as the file tells: whether a step keeps something from batch to batch."""
    return any(
        isinstance(step, DedupeStep | StateStep)
        or (isinstance(step, SqlStep) and _KEEPS_STATE.search(step.sql) is not None)
        for step in pipeline.steps
    )


def kept_partitions(files: Names, query: str) -> int | None:
    """The number in the checkpoint of a query; None before its first batch."""
    batches = [int(name) for name in files.names(f"{query}/offsets") if name.isdigit()]
    if not batches:
        return None
    try:
        # A version, then facts of the batch.
        facts = json.loads(files.read_text(f"{query}/offsets/{max(batches)}").splitlines()[1])
        return int(facts["conf"][SHUFFLE_PARTITIONS])
    except (OSError, LookupError, ValueError, TypeError):
        return None


def what_stays(number: int) -> str:
    """Told once, before the first batch fixes it."""
    return (
        f"state is spread over {number} partitions, one for each core of the cluster, and stays so with this checkpoint; "
        f"{SHUFFLE_PARTITIONS} under options is another number"
    )


def what_cannot_be_had(asked: int, kept: Mapping[str, int | None]) -> list[str]:
    return [
        f"{query}: its state stays spread over {number} partitions, as when its checkpoint began, not over {asked}"
        for query, number in kept.items()
        if number is not None and number != asked
    ]


def given_partitions(spark: SparkSession, pipeline: Pipeline) -> int | None:
    """What the file says, or else the session: on this machine alone it has a number of its own."""
    given = dict(pipeline.options).get(SHUFFLE_PARTITIONS)
    told = given or spark.sparkContext.getConf().get(SHUFFLE_PARTITIONS)
    return int(told) if told else None


def partitions_of_cluster(spark: SparkSession) -> int | None:
    """By its cores. Takes some seconds, so ask only for a new checkpoint. None: Spark's own number has to do."""
    cores = _cores(spark)
    return None if cores is None else partitions_for(cores)


def _cores(spark: SparkSession) -> int | None:
    """Of all executors, which report to the driver one after the other; None if they come and go."""
    context = spark.sparkContext
    conf = context.getConf()
    if conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        most, each = (
            conf.get("spark.dynamicAllocation.maxExecutors"),
            conf.get("spark.executor.cores"),
        )
        return int(most) * int(each or 1) if most else None

    def report() -> tuple[int, int]:
        assert context._jsc is not None
        # The driver is one of them.
        executors = context._jsc.sc().statusTracker().getExecutorInfos()
        return len(executors) - 1, context.defaultParallelism

    executors, cores = steady(report)
    return cores if executors else None


def steady(
    report: Callable[[], tuple[int, int]],
    *,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> tuple[int, int]:
    """The report when executors are there and no more of them came for a while, or when the time is over."""
    deadline = now() + _EXECUTORS_SECONDS
    last, since = report(), now()
    while now() < deadline and not (last[0] and now() - since > _STEADY_SECONDS):
        pause(_LOOK_SECONDS)
        if (found := report()) != last:
            last, since = found, now()
    return last
