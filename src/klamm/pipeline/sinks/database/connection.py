"""Statements of the driver itself, over the JVM's JDBC, and what the database answers in one sentence.

The password and the address's parameters, which may hold one, never get into a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped,unused-ignore]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from klamm.pipeline.drivers import driver_of
from klamm.pipeline.sinks.trouble import SinkFailed, SinkUnreachable
from klamm.pipeline.spec.model.sinks import JdbcSink

_HIDDEN = "********"
# The database's own words stand after the name of Java's exception.
_SAID = re.compile(r"(?:\w*SQL\w*Exception|BatchUpdateException): (.+)")
_NO_DRIVER = re.compile(r"No suitable driver|ClassNotFoundException")
# Names of Java's exceptions, and words of databases, that say: not there now.
_NOT_NOW = re.compile(
    r"Connection refused|ConnectException|UnknownHost|SocketTimeout|SQLTransientConnection|Communications"
    r"|the database system is|connection attempt failed|terminating connection|I/O error|deadlock detected"
)


def address_of(sink: JdbcSink) -> str:
    """The database's address as it may be shown."""
    return re.sub("//[^/@]*@", "//", sink.jdbc.partition("?")[0].partition(";")[0])


def options_of(sink: JdbcSink) -> dict[str, str]:
    """What Spark's writer is told."""
    driver = sink.driver or driver_of(sink.jdbc)
    named = {"user": sink.user, "password": sink.password, "driver": driver}
    given = {name: value for name, value in named.items() if value is not None}
    return {**dict(sink.options), **given, "url": sink.jdbc}


class Connection:
    """One connection of the driver. Each statement is a transaction unless `transaction` says otherwise."""

    def __init__(self, java: Any) -> None:
        self._java = java

    def run(self, *statements: str) -> None:
        statement = self._java.createStatement()
        try:
            for sql in statements:
                statement.execute(sql)
        finally:
            statement.close()

    def count(self, sql: str) -> int:
        statement = self._java.createStatement()
        try:
            result = statement.executeQuery(sql)
            result.next()
            return int(result.getLong(1))
        finally:
            statement.close()

    def columns(self, table: str) -> list[str] | None:
        """The table's columns, or None if it is not there."""
        statement = self._java.createStatement()
        try:
            facts = statement.executeQuery(f"SELECT * FROM {table} WHERE 1 = 0").getMetaData()
            return [str(facts.getColumnName(at + 1)) for at in range(facts.getColumnCount())]
        except Py4JJavaError:
            # Each database has a code of its own for it. If it was something else, the next statement says it.
            return None
        finally:
            statement.close()

    def tables_like(self, schema: str | None, prefix: str) -> list[str]:
        result = self._java.getMetaData().getTables(None, schema, f"{prefix}%", None)
        found = []
        while result.next():
            found.append(str(result.getString("TABLE_NAME")))
        return [name for name in found if name.startswith(prefix)]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._java.setAutoCommit(False)
        try:
            yield
            self._java.commit()
        except BaseException:
            self._java.rollback()
            raise
        finally:
            self._java.setAutoCommit(True)


@contextmanager
def connected(spark: SparkSession, sink: JdbcSink) -> Iterator[Connection]:
    jvm: Any = spark._jvm
    driver = sink.driver or driver_of(sink.jdbc)
    # Spark loads drivers from its jars, where Java's own manager would not look.
    jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(driver)
    properties = jvm.java.util.Properties()
    for name, value in (("user", sink.user), ("password", sink.password)):
        if value is not None:
            properties.setProperty(name, value)
    java = jvm.java.sql.DriverManager.getConnection(sink.jdbc, properties)
    try:
        yield Connection(java)
    finally:
        java.close()


@contextmanager
def database_blamed(sink: JdbcSink) -> Iterator[None]:
    """What the database refuses becomes one sentence. What else goes wrong in a batch is not the database's."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if _NO_DRIVER.search(text):
            raise SinkFailed(
                f"there is no JDBC driver for {address_of(sink)}: give its jar under the pipeline's options "
                "(spark.jars) and its class as driver"
            ) from None
        said = _SAID.search(text)
        if said is None:
            raise
        words = _without_secrets(said[1], sink).strip().removeprefix("ERROR: ")
        if _NOT_NOW.search(text):
            raise SinkUnreachable(
                f"the database {address_of(sink)} cannot be reached: {words}"
            ) from None
        if "ON CONFLICT" in words:
            words += (
                f" (the table needs a primary key or a unique index over {', '.join(sink.key)})"
            )
        raise SinkFailed(
            f"the database {address_of(sink)} refused table {sink.table}: {words}"
        ) from None


def _without_secrets(text: str, sink: JdbcSink) -> str:
    secrets: Sequence[str | None] = (sink.password, sink.jdbc.partition("?")[2])
    for secret in secrets:
        if secret:
            text = text.replace(secret, _HIDDEN)
    return re.sub(r"(?i)(password|pwd)=[^&;\s]+", rf"\1={_HIDDEN}", text)
