"""Runs of tests are registered in folders of their own."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.running.pipelines import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def stage(spark: "SparkSession", bootstrap: str, warehouse: Path, tmp_path: Path) -> Stage:
    return Stage(spark, bootstrap, warehouse, tmp_path)
