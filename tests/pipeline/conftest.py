"""One broker and one Spark session for all tests of this folder. They start when the first test asks for them."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.brokers import Broker, start_klamm
from support.postgresql import PostgreSql, start_postgresql
from support.spark import shared_session, shared_warehouse, stop_shared_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark leaves the sockets over which rows came to the garbage collector."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    broker = start_klamm()
    yield broker
    broker.stop()


@pytest.fixture
def bootstrap(broker: Broker) -> str:
    return broker.address


@pytest.fixture(scope="session")
def warehouse() -> Path:
    return shared_warehouse()


@pytest.fixture(scope="session")
def spark(warehouse: Path) -> Iterator["SparkSession"]:
    pytest.importorskip("pyspark")
    yield shared_session()
    stop_shared_session()


@pytest.fixture
def in_the_session(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    """`klamm pipeline run` in this process, in the session that is there."""
    from klamm.pipeline.running import run

    monkeypatch.setattr(run, "run", partial(run.run, spark=spark))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSql]:
    with start_postgresql() as server:
        yield server
