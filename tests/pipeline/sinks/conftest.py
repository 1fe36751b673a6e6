"""Sorts that spill, which with a few thousand rows no sort would do by itself."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_THRESHOLD = "spark.shuffle.spill.numElementsForceSpillThreshold"
_MOST_IN_MEMORY = "200"


@pytest.fixture
def spilling(spark: "SparkSession") -> Iterator[None]:
    """Sorts and shuffles write their rows to a file after so many, and merge the files in the end."""
    assert spark._jvm is not None
    # Given to a session it would be too late, but each sort asks for it anew.
    settings = spark._jvm.org.apache.spark.SparkEnv.get().conf()
    settings.set(_THRESHOLD, _MOST_IN_MEMORY)
    yield
    settings.remove(_THRESHOLD)
