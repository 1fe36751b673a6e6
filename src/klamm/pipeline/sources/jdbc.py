"""How Spark is told about a database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped,unused-ignore]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.drivers import driver_of
from klamm.pipeline.sources.trouble import SourceFailed, SourceUnreachable
from klamm.pipeline.spec import JdbcSource

# Names of Java's exceptions, and SQL's classes of errors, that say: not there now.
_UNREACHABLE = (
    "Connection refused",
    "ConnectException",
    "UnknownHostException",
    "SocketTimeoutException",
    "SQLTransientConnectionException",
    "CommunicationsException",
    "the database system is",
    "The connection attempt failed",
)
_SAID = re.compile(
    r"^(?:Caused by: |: )?(?:[a-z]\w*\.)+\w*(?:Exception|Error): (.+)$", re.MULTILINE
)


def relation_of(source: JdbcSource) -> str:
    """What stands after FROM: the table, or the query in brackets."""
    if source.query is None:
        return source.table or ""
    return f"({source.query.strip().rstrip(';')}) klamm_query"


def read_relation(spark: SparkSession, source: JdbcSource, relation: str) -> DataFrame:
    options = {"url": source.jdbc, "dbtable": relation, **dict(source.options)}
    for name, value in (
        ("user", source.user),
        ("password", source.password),
        ("driver", source.driver or driver_of(source.jdbc)),
    ):
        if value is not None:
            options[name] = value
    with database_blamed(source):
        return spark.read.format("jdbc").options(**options).load()


def address_of(source: JdbcSource) -> str:
    """The database's address as it may be shown: what follows the ? may hold a password."""
    return source.jdbc.partition("?")[0].partition(";")[0]


@contextmanager
def database_blamed(source: JdbcSource) -> Iterator[None]:
    """What the database or its driver refuses is told in one sentence."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        text = f"{error}\n{getattr(error, '_stackTrace', None) or ''}"
        reason = _reason(text)
        if any(sign in text for sign in _UNREACHABLE):
            raise SourceUnreachable(
                f"the database {address_of(source)} cannot be reached: {reason}"
            ) from error
        if "No suitable driver" in text or "ClassNotFoundException" in text:
            raise SourceFailed(
                f"Spark has no driver for {address_of(source)}: give its jar under options of the pipeline "
                "(spark.jars) and its class under driver"
            ) from error
        raise SourceFailed(f"the database {address_of(source)} refused: {reason}") from error


def _reason(text: str) -> str:
    """The database's own words: what the deepest exception says."""
    said = _SAID.findall(text)
    words: str = said[-1] if said else text.strip().splitlines()[0]
    return words.strip().removeprefix("ERROR: ").removeprefix("FATAL: ")
