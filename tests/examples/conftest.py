"""The examples are a package beside `tests`. Those that are pipelines play on one stage: one broker, one Spark session."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.brokers import start_klamm
from support.postgresql import PostgreSql, start_postgresql
from support.spark import shared_session, stop_shared_session

sys.path.insert(0, str(Path(__file__).parents[2]))

if TYPE_CHECKING:
    from examples.stage import Stage
    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark leaves the sockets over which rows came to the garbage collector."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    pytest.importorskip("pyspark")
    yield shared_session()
    stop_shared_session()


@pytest.fixture(scope="session")
def stage(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator["Stage"]:
    from examples.stage import Stage

    broker = start_klamm()
    yield Stage(broker.address, spark, tmp_path_factory.mktemp("stage"))
    broker.stop()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSql]:
    with start_postgresql() as server:
        yield server
