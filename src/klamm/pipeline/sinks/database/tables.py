"""Rows into a table of a database: added, or one per key."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager

from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.sinks.database.connection import (
    Connection,
    address_of,
    connected,
    database_blamed,
    options_of,
)
from klamm.pipeline.sinks.database.dialects import dialect_of
from klamm.pipeline.sinks.tables.columns import last_per_key
from klamm.pipeline.sinks.trouble import SinkFailed
from klamm.pipeline.spec.model.sinks import JdbcSink


class DatabaseAppend:
    """At least once: a batch that is repeated adds its rows again. Spark makes the table if it is missing."""

    def __init__(self, sink: JdbcSink) -> None:
        self._sink = sink

    def open(self, query_id: str) -> None:
        """It keeps nothing."""

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        with database_blamed(self._sink):
            writer = batch.write.format("jdbc").mode("append").options(**options_of(self._sink))
            writer.option("dbtable", self._sink.table).save()
        return True

    def close(self) -> None:
        """Spark's tasks have closed their connections."""


class DatabaseUpsert:
    """Exactly once, because a batch that is repeated writes the same rows over themselves.

    The tasks fill a staging table, which one transaction then merges into the table. What an earlier run left behind is
    dropped first: whoever of it still lives has nothing to merge any more.
    """

    def __init__(self, spark: SparkSession, sink: JdbcSink) -> None:
        self._spark = spark
        self._sink = sink
        self._dialect = dialect_of(sink.jdbc)
        self._schema, self._dot, _ = sink.table.rpartition(".")
        self._prefix = ""

    def open(self, query_id: str) -> None:
        name = hashlib.sha256(f"{query_id}.{self._sink.label}".encode()).hexdigest()[:16]
        self._prefix = f"klamm_{name}_"
        with database_blamed(self._sink), self._connected() as connection:
            schema = self._schema.rpartition(".")[2] or None
            for left in connection.tables_like(schema, self._prefix):
                connection.run(f"DROP TABLE {self._schema}{self._dot}{left}")

    def write(self, batch: DataFrame, batch_id: int) -> bool:
        rows = last_per_key(batch, self._sink.key, f"table {self._sink.table}")
        staging = f"{self._schema}{self._dot}{self._prefix}{secrets.token_hex(4)}"
        with database_blamed(self._sink), self._connected() as connection:
            known = connection.columns(self._sink.table)
            try:
                columns = self._stage(connection, rows, staging, known)
                self._merge(connection, staging, columns, is_new=known is None)
            finally:
                if connection.columns(staging) is not None:
                    connection.run(f"DROP TABLE {staging}")
        return True

    def close(self) -> None:
        """Connections last for one batch."""

    def _connected(self) -> AbstractContextManager[Connection]:
        return connected(self._spark, self._sink)

    def _stage(
        self, connection: Connection, rows: DataFrame, staging: str, known: Sequence[str] | None
    ) -> list[str]:
        """The rows into the staging table; gives the columns as the database spells them."""
        columns = rows.columns
        if known is not None:
            columns = self._spelt(rows.columns, known)
            connection.run(self._dialect.create_staging(staging, self._sink.table, columns))
        writer = rows.toDF(*columns).write.format("jdbc").mode("append")
        writer.options(**options_of(self._sink)).option("dbtable", staging).save()
        return columns

    def _merge(
        self, connection: Connection, staging: str, columns: Sequence[str], *, is_new: bool
    ) -> None:
        key = self._spelt(self._sink.key, columns)
        is_null = " OR ".join(f"{self._dialect.quoted(name)} IS NULL" for name in key)
        if nulls := connection.count(f"SELECT count(*) FROM {staging} WHERE {is_null}"):
            raise SinkFailed(
                f"table {self._sink.table}: {nulls} rows have no value for the key {', '.join(key)}; "
                "leave them out in a step"
            )
        if is_new:
            connection.run(*self._dialect.create_like(self._sink.table, staging, key))
        with connection.transaction():
            connection.run(
                self._dialect.upsert(self._sink.table, staging, columns=columns, key=key)
            )

    def _spelt(self, names: Sequence[str], known: Sequence[str]) -> list[str]:
        by_lower = {name.lower(): name for name in known}
        if missing := [name for name in names if name.lower() not in by_lower]:
            raise SinkFailed(
                f"table {self._sink.table} of {address_of(self._sink)} has no column {', '.join(missing)}; "
                f"it has {', '.join(known)}"
            )
        return [by_lower[name.lower()] for name in names]
