"""Queries that fail, and runs that are asked to end."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.running.cluster_watch import ClusterWatch
from klamm.pipeline.running.offsets import GroupOffsets, Readers
from klamm.pipeline.running.progress import Reporter
from klamm.pipeline.running.queries import Startable
from klamm.pipeline.running.query import start_batches
from klamm.pipeline.running.supervisor import Pauses, Supervisor
from klamm.pipeline.sinks.trouble import SinkFailed, SinkUnreachable
from klamm.pipeline.spec import Trigger, TriggerWhen
from pipeline.running.pipelines import FlakySink, Stage, numbers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL_THERE_IS = Trigger(TriggerWhen.AVAILABLE_NOW, None)


@pytest.fixture
def stage(spark: "SparkSession", bootstrap: str, warehouse: Path, tmp_path: Path) -> Stage:
    return Stage(spark, bootstrap, warehouse, tmp_path)


def supervise(
    stage: Stage,
    sink: FlakySink,
    *,
    stop: threading.Event | None = None,
    trigger: Trigger = ALL_THERE_IS,
    patience_seconds: float | None = None,
    stop_seconds: float = 30.0,
) -> None:
    """One query over Spark's own source of rows, into the sink."""
    rows = stage.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()

    def begin() -> object:
        checkpoint = str(stage.checkpoint)
        return start_batches(rows, [sink], name="q", checkpoint=checkpoint, trigger=trigger)

    offsets = GroupOffsets("pipeline.supervised", stage.place)
    try:
        Supervisor(
            startables=[Startable("q", begin)],  # type: ignore[arg-type]
            reporter=Reporter("supervised", ["q"]),
            readers=Readers(numbers("supervised")),
            offsets=offsets,
            cluster=ClusterWatch(stage.place, tell=stage.notices.append),
            watch=stage.reports.append,
            notice=stage.notices.append,
            patience_seconds=patience_seconds,
            stop_seconds=stop_seconds,
        ).run(stop or threading.Event())
    finally:
        offsets.close()


def test_query_is_started_again_after_a_failure_that_may_pass(stage: Stage) -> None:
    sink = FlakySink(SinkUnreachable("the cluster does not answer."))

    supervise(stage, sink)

    # The batch that failed, and what has come meanwhile.
    assert sink.batches == [0, 1]
    assert stage.notices == [
        "q: the cluster does not answer; trying again in 1 s",
        "q: works again",
    ]
    assert stage.reports[-1].queries[0].batches == 2
    assert sink.closed == 2, "each start opens the sinks anew"


def test_failure_that_stays_ends_the_run_with_its_sentence(stage: Stage) -> None:
    sink = FlakySink(SinkFailed("the table has no column n"))

    with pytest.raises(PipelineFailed) as failure:
        supervise(stage, sink)

    assert str(failure.value) == "q: the table has no column n"
    assert failure.value.exit_code == 1
    assert stage.notices == []


def test_spark_hears_little_of_a_long_failure(stage: Stage) -> None:
    """It would search the text with a recursion as deep as that is long, and print a thousand lines of its stack."""
    words = f"An error occurred while calling o1.sql. {'at a.b.C ' * 20_000}"
    sink = FlakySink(SinkFailed(words))
    rows = stage.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
    checkpoint = str(stage.checkpoint)
    query = start_batches(rows, [sink], name="q", checkpoint=checkpoint, trigger=ALL_THERE_IS)

    with pytest.raises(SinkFailed, match=r"An error occurred while calling o1\.sql"):
        query.wait()

    assert len(str(query.query.exception())) < 20_000


def test_patience_ends_for_a_run_of_what_is_there(stage: Stage) -> None:
    sink = FlakySink(SinkUnreachable("nobody is there"), SinkUnreachable("nobody is there"))

    with pytest.raises(PipelineFailed, match="q: nobody is there"):
        supervise(stage, sink, patience_seconds=0.0)

    assert len(stage.notices) == 1


def test_stop_lets_the_batch_that_runs_come_to_its_end_and_no_other_begin(stage: Stage) -> None:
    stop = threading.Event()
    sink = FlakySink(meanwhile=stop.set)

    supervise(stage, sink, stop=stop, trigger=Trigger(TriggerWhen.EVERY, None))

    assert sink.batches == [0]
    assert (stage.checkpoint / "commits" / "0").exists(), "the batch was not finished"
    assert not (stage.checkpoint / "commits" / "1").exists()
    assert stage.notices == []


def test_batch_that_takes_too_long_is_given_up(stage: Stage) -> None:
    stop = threading.Event()

    def hang() -> None:
        stop.set()
        stage.spark.range(10**12).selectExpr("sum(id * rand())").collect()

    supervise(
        stage,
        FlakySink(meanwhile=hang),
        stop=stop,
        trigger=Trigger(TriggerWhen.EVERY, None),
        stop_seconds=0.0,
    )

    assert not (stage.checkpoint / "commits" / "0").exists()


def test_pauses_grow_until_something_works() -> None:
    pauses = Pauses(patience_seconds=100.0)

    assert [pauses.next(now) for now in (0.0, 1.0, 3.0)] == [1.0, 2.0, 4.0]
    pauses.over()
    assert [pauses.next(now) for now in (200.0, 250.0, 301.0)] == [1.0, 2.0, None]


def test_pauses_have_a_longest() -> None:
    pauses = Pauses(patience_seconds=None)

    assert [pauses.next(0.0) for _ in range(9)][-2:] == [15.0, 15.0]
