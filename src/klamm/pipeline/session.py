"""The one place that builds a SparkSession: which Java, which Python, which jars, which catalogs, which address."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from klamm.pipeline.jars import Use, Watcher, cache_directory, ensure, jars_for
from klamm.pipeline.java import find_java, home_for_spark
from klamm.pipeline.partitions import LEAST, SHUFFLE_PARTITIONS
from klamm.pipeline.spark_stderr import strained_stderr

CATALOG = "lake"
_LOOPBACK = "127.0.0.1"
# Drivers of databases take Java's clock for times without a zone: it must be the session's, below.
_CLOCK = "-Duser.timezone=UTC"
# Avro's reader makes room for as much as a value claims to hold before it looks how much is there: a few damaged bytes
# would take all of Java's memory, and Spark down with it. Longer texts and lists are malformed.
_AVRO_LIMITS = " ".join(
    f"-Dorg.apache.avro.limits.{what}.maxLength={limit}"
    for what, limit in (("string", 1 << 26), ("bytes", 1 << 26), ("collectionItems", 1 << 24))
)
_LOG_CONFIG = Path(__file__).with_name("log4j2.properties")
_CHECKPOINT_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
_EXTENSIONS = {
    Use.ICEBERG: "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    Use.DELTA: "io.delta.sql.DeltaSparkSessionExtension",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """What a session must be able to do. `options` are Spark's own and win over what is derived here."""

    name: str
    master: str = "local[*]"
    uses: Collection[Use] = (Use.TOPICS, Use.ICEBERG)
    # Where the tables of the catalog `lake` are kept; a path or any address that Spark's file systems understand.
    warehouse: str | None = None
    # Another Iceberg catalog than files in the warehouse, as the part of the options after the catalog's name.
    catalog: Mapping[str, str] = field(default_factory=dict)
    # The address at which workers find the driver; on this machine alone it is loopback.
    driver_host: str | None = None
    driver_memory: str | None = None
    log_level: str = "ERROR"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JavaStart:
    """Of a session whose user looks on: where Java's complaints go, and what to ask of Java before Spark starts."""

    log: Path
    # What it raises ends the start.
    check: Callable[[Any], None] | None = None


def open_session(
    settings: SessionSettings,
    *,
    cache: Path | None = None,
    mirror: str | None = None,
    watch: Watcher | None = None,
    java: JavaStart | None = None,
) -> SparkSession:
    """Brings what is missing, then starts Spark: some seconds. JavaMissing and JarError say what to do."""
    cache = cache or cache_directory()
    java_home = home_for_spark(find_java(), cache=cache)
    jars = ensure(jars_for(settings.uses), cache=cache, mirror=mirror, watch=watch)
    # PySpark hands its own environment to the JVM, and the JVM starts the Python workers.
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if host := _driver_host(settings):
        os.environ["SPARK_LOCAL_IP"] = host
    # PySpark prints each failed query with Java's stack trace as a line of JSON, beside the exception that it raises.
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL)
    conf = SparkConf().setAppName(settings.name).setMaster(settings.master)
    conf.setAll(list(session_options(settings, jars).items()))
    if java is not None:
        _start_java(conf, java)
        return SparkSession.builder.config(conf=conf).getOrCreate()
    with strained_stderr():
        return SparkSession.builder.config(conf=conf).getOrCreate()


def _start_java(conf: SparkConf, java: JavaStart) -> None:
    """What Spark would do first by itself: it finds the process there."""
    if SparkContext._gateway is None:
        java.log.parent.mkdir(parents=True, exist_ok=True)
        with open(java.log, "wb") as log:
            gateway = launch_gateway(conf, {"stderr": log})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
    if java.check is not None:
        java.check(SparkContext._jvm)


@contextmanager
def a_session(
    settings: SessionSettings, *, watch: Watcher | None = None, java: JavaStart | None = None
) -> Iterator[SparkSession]:
    """For as long as it is needed. A session that runs in this process already is used, and left as it is."""
    # The active one is another for each thread.
    running = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if running is not None:
        yield running.newSession()
        return
    session = open_session(settings, watch=watch, java=java)
    try:
        yield session
    finally:
        session.stop()


def session_options(settings: SessionSettings, jars: Collection[Path]) -> dict[str, str]:
    """All that Spark is told, in Spark's names."""
    options = {
        "spark.jars": ",".join(str(jar) for jar in jars),
        # Not extraJavaOptions: those are the user's.
        "spark.driver.defaultJavaOptions": (
            f"-Dlog4j2.configurationFile={_LOG_CONFIG.as_uri()}"
            f" -Dklamm.spark.log.level={settings.log_level} {_CLOCK} {_AVRO_LIMITS}"
        ),
        "spark.executor.defaultJavaOptions": f"{_CLOCK} {_AVRO_LIMITS}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Times in events are instants: what a pipeline computes must not depend on where it runs.
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if host := _driver_host(settings):
        options["spark.driver.host"] = options["spark.driver.bindAddress"] = host
    if settings.driver_memory is not None:
        options["spark.driver.memory"] = settings.driver_memory
    if settings.master.startswith("local"):
        options[SHUFFLE_PARTITIONS] = str(LEAST)
        # The same for the state of a Delta table, which is computed at every commit.
        options["spark.databricks.delta.snapshotPartitions"] = "2"
        # Spark's other way to write checkpoints starts a process of the system for each file that it looks at.
        options["spark.sql.streaming.checkpointFileManagerClass"] = _CHECKPOINT_FILES
    if extensions := [_EXTENSIONS[use] for use in settings.uses if use in _EXTENSIONS]:
        options["spark.sql.extensions"] = ",".join(extensions)
    told = {**options, **_catalogs(settings), **settings.options}
    if more := settings.options.get("spark.jars"):
        # Such as a database's driver: beside what a pipeline needs anyway, not in place of it.
        told["spark.jars"] = ",".join(filter(None, (options["spark.jars"], more)))
    return told


def _driver_host(settings: SessionSettings) -> str | None:
    """None: Spark finds the address that the workers of another machine can reach."""
    if settings.driver_host is not None:
        return settings.driver_host
    if settings.master.startswith("local"):
        return _LOOPBACK
    is_here = urlsplit(settings.master).hostname in {_LOOPBACK, "localhost"}
    return _LOOPBACK if is_here else None


def _catalogs(settings: SessionSettings) -> dict[str, str]:
    options = {}
    if Use.ICEBERG in settings.uses and (settings.warehouse or settings.catalog):
        # Each streaming query has a catalog of its own: with caches, one would not see what another committed, and a
        # sink must see the last batch.
        parts = {"type": "hadoop", "cache-enabled": "false", **settings.catalog}
        if settings.warehouse:
            parts["warehouse"] = settings.warehouse
        name = f"spark.sql.catalog.{CATALOG}"
        options[name] = "org.apache.iceberg.spark.SparkCatalog"
        options |= {f"{name}.{key}": value for key, value in parts.items()}
    if Use.DELTA in settings.uses:
        options["spark.sql.catalog.spark_catalog"] = (
            "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
    return options
