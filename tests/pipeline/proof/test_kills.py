"""kill -9 of whatever takes part: every input is once in the topics, read with read_committed, and once in the table.

All on one pipeline, which is killed at the worst moment that can be seen from outside: a transaction is open.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeAlias

import pytest

pytest.importorskip("pyspark")

from chaos.pipeline.stage import Stage

TableReader: TypeAlias = Callable[[str], list[Mapping[str, Any]]]


def what_is_wrong(stage: Stage, read_table: TableReader) -> list[str]:
    return [str(verdict) for verdict in stage.settle(read_table) if not verdict.is_good]


def test_job_on_a_cluster_writes_what_plain_python_computes(
    stage: Stage, read_table: TableReader
) -> None:
    stage.driver.wait_for_batches(1)

    assert what_is_wrong(stage, read_table) == []


def test_killed_executor_loses_and_doubles_nothing(stage: Stage, read_table: TableReader) -> None:
    stage.wait_for_an_open_transaction()
    stage.kill_executor(Random(1))

    assert what_is_wrong(stage, read_table) == []


def test_killed_broker_is_told_of_and_loses_and_doubles_nothing(
    stage: Stage, read_table: TableReader
) -> None:
    stage.wait_for_an_open_transaction()
    stage.kill_broker_until_it_is_noticed()

    assert what_is_wrong(stage, read_table) == []


def test_killed_driver_loses_and_doubles_nothing(stage: Stage, read_table: TableReader) -> None:
    stage.wait_for_an_open_transaction()
    stage.kill_driver()

    assert what_is_wrong(stage, read_table) == []
