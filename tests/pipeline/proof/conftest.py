"""The engines of these tests are in the package `chaos` beside `tests`; here each kill happens once.

One pipeline runs on one Spark cluster for all of them, and is fed all the time.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))

if TYPE_CHECKING:
    from chaos.pipeline.stage import Stage
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def stage(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Stage"]:
    pytest.importorskip("pyspark")
    from chaos.pipeline.feed import Feed
    from chaos.pipeline.stage import Stage

    home = tmp_path_factory.mktemp("proof")
    with (
        Stage(home, name="proof", warehouse=warehouse, on_cluster=True) as stage,
        Feed(stage.bootstrap, per_second=100),
    ):
        yield stage


@pytest.fixture
def read_table(spark: "SparkSession") -> Callable[[str], list[Mapping[str, Any]]]:
    from klamm.pipeline.names import iceberg_name

    return lambda table: [row.asDict() for row in spark.table(iceberg_name(table)).collect()]
