"""kill -9 of whatever takes part: every input is once in the topics, read with read_committed, and once in the table.

All on one pipeline, which is killed at the worst moment that can be seen from outside: a transaction is open.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

pytest.importorskip("pyspark")

from chaos.pipeline import outputs
from chaos.pipeline.job import Job
from chaos.pipeline.stage import Stage

from klamm.pipeline.place import Place
from klamm.pipeline.running.start import start
from klamm.pipeline.spec import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TableReader: TypeAlias = Callable[[str], list[Mapping[str, Any]]]


def what_is_wrong(stage: Stage, read_table: TableReader) -> list[str]:
    return [str(verdict) for verdict in stage.settle(read_table) if not verdict.is_good]


def test_result_on_a_cluster_is_the_one_of_a_local_run(
    stage: Stage, spark: "SparkSession", warehouse: Path, tmp_path: Path, read_table: TableReader
) -> None:
    stage.driver.wait_for_batches(1)
    local = Job(name="proof_local", home=tmp_path, warehouse=warehouse)
    local.write()
    outputs.create_topics(stage.bootstrap, *local.topics)
    place = Place(
        bootstrap=stage.bootstrap, checkpoint=str(local.checkpoint), warehouse=str(warehouse)
    )

    assert what_is_wrong(stage, read_table) == []
    pipeline = parse(local.file.read_text())
    for query in start(spark, pipeline, place, once=True, folder=local.home):
        query.wait()

    for here, there in zip(local.topics, stage.job.topics, strict=True):
        mine, theirs = rows_by_id(stage, here), rows_by_id(stage, there)
        both = mine.keys() & theirs.keys()
        assert both
        assert {id: mine[id] for id in both} == {id: theirs[id] for id in both}


def test_killed_executor_loses_and_doubles_nothing(stage: Stage, read_table: TableReader) -> None:
    stage.wait_for_an_open_transaction()
    stage.kill_executor(Random(1))

    assert what_is_wrong(stage, read_table) == []


def test_killed_broker_is_told_of_and_loses_and_doubles_nothing(
    stage: Stage, read_table: TableReader
) -> None:
    stage.wait_for_an_open_transaction()
    stage.broker.kill()
    stage.wait_for_a_notice()
    stage.broker.start()

    assert what_is_wrong(stage, read_table) == []


def test_killed_driver_loses_and_doubles_nothing(stage: Stage, read_table: TableReader) -> None:
    stage.wait_for_an_open_transaction()
    stage.kill_driver()

    assert what_is_wrong(stage, read_table) == []


def test_batch_that_is_repeated_changes_nothing(stage: Stage, read_table: TableReader) -> None:
    stage.driver.wait_for_batches(1)
    forgotten = stage.forget_last_commit()
    stage.driver.wait_for_batches(1)

    assert what_is_wrong(stage, read_table) == []
    assert forgotten.exists(), "the batch was not repeated"


def rows_by_id(stage: Stage, topic: str) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in outputs.rows_of(stage.bootstrap, topic)}
