"""The benchmark's jobs on a load far too short to mean anything: they do their work, and the report holds the figures."""

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from bench.pipeline import jobs, report
from bench.pipeline.command import choose
from bench.pipeline.rounds import Plan, Result, Took, compare
from bench.processes import parse_address
from bench.target import KLAMM, REFERENCE, Target

from support.brokers import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = 400


def test_jobs_read_all_and_write_what_they_should(spark: "SparkSession", broker: Broker) -> None:
    target = Target(KLAMM, parse_address(broker.address), broker.pid)

    plan = Plan(RECORDS, rounds=1, warm_up_share=0)
    # A batch and a stream; the others are Spark's alone.
    results = list(compare(spark, choose("count,exactly"), [target], plan, lambda _: None))

    assert [result.job.name for result in results] == ["count", "exactly"]
    for result in results:
        line = report.as_object(result, RECORDS)
        assert set(line) == {"job", "about", "klamm"}
        assert result.best_seconds(KLAMM) > 0
        assert result.best_cpu_seconds(KLAMM) is not None


def test_ratio_is_of_the_best_rounds() -> None:
    rounds = {KLAMM: [Took(3.0, 0.3), Took(2.0, 0.5)], REFERENCE: [Took(4.0, 1.2), Took(5.0, 0.6)]}

    line = report.as_object(Result(jobs.ALL[0], rounds), RECORDS)

    assert line["ratio"] == {"seconds": 0.5, "broker_cpu": 0.5}


def test_unknown_job_is_named() -> None:
    with pytest.raises(ValueError, match="no job cuont; there are count, parquet, topic, exactly"):
        choose("cuont")
