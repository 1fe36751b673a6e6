"""The one Spark session of a test process: the tests of pipelines and those of examples share it, and its tables."""

import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@cache
def shared_warehouse() -> Path:
    return Path(tempfile.mkdtemp(prefix="klamm-test-lake-"))


@cache
def shared_session() -> "SparkSession":
    """The catalog is loaded once per session, so a second warehouse in the same process would be seen by some and
    not by others."""
    from klamm.pipeline.session import open_session
    from pipeline.small_session import small_session

    return open_session(small_session(str(shared_warehouse())))


def stop_shared_session() -> None:
    """At the end of the tests; whoever comes second finds nothing to do."""
    if shared_session.cache_info().currsize:
        shared_session().stop()
        shared_session.cache_clear()
        shutil.rmtree(shared_warehouse(), ignore_errors=True)
        shared_warehouse.cache_clear()
