"""Rows of a database become files that a stream can read: each row is in one of them, whatever is killed when.

A round asks for the largest value of the growing column, writes the rows up to it into a hidden folder, notes the value,
and moves the file to where the stream looks. The move is the moment that counts: a note without its file is passed over
and written anew, a file was noted before it came.

What the database shows late is not seen: a row that becomes visible with a value not above one that was read already
(a transaction that took its id early and committed late), and rows whose column is NULL.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped,unused-ignore]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import (
    DataType,
    DateType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from klamm.pipeline.sources.folder import Folder
from klamm.pipeline.sources.jdbc import address_of, database_blamed, read_relation, relation_of
from klamm.pipeline.sources.trouble import SourceFailed, SourceUnreachable
from klamm.pipeline.spec import JdbcSource
from klamm.pipeline.spec.problems import nearest

_STAGING = "_staging"
_NOTES = "_positions"
_ENDING = ".parquet"
_UPPER = "klamm_upper"
_LONGEST_PAUSE_SECONDS = 60.0
_LONGEST_REST_SECONDS = 900.0
# All others take the standard's words for it.
_SAY_LIMIT = ("jdbc:mysql:", "jdbc:mariadb:", "jdbc:sqlite:")

log = logging.getLogger(__name__)


class Landing:
    """The rows of one source in one folder. `reached` is told each step of a round: tests end it there."""

    def __init__(
        self,
        spark: SparkSession,
        source: JdbcSource,
        folder: str,
        *,
        reached: Callable[[str], None] | None = None,
    ) -> None:
        self._spark = spark
        self._source = source
        self._folder = Folder(spark, folder)
        self._reached = reached or (lambda step: None)
        self._stop = threading.Event()
        self.schema: StructType = read_relation(spark, source, relation_of(source)).schema
        self._column, self._kind = self._growing_column()
        self._number, self._last = self._found()
        # What the last round could not do; None after one that could.
        self.trouble: Exception | None = None

    @property
    def path(self) -> str:
        return self._folder.path()

    def land(self) -> bool:
        """One round. False: there is nothing new."""
        number = self._number + 1
        if self._column is None:
            if number > 0:
                return False
            upper, rows = None, read_relation(self._spark, self._source, self._relation())
        else:
            upper = self._ask_upper(self._source.max_per_batch)
            if upper is None:
                return False
            rows = read_relation(self._spark, self._source, self._rows_up_to(upper))
        self._reached("asked")
        self._stage(rows, number)
        self._reached("staged")
        self._folder.write_text(f"{_NOTES}/{number}.json", json.dumps({"upper": upper}))
        self._reached("noted")
        self._publish(number)
        self._number, self._last = number, upper
        self._reached("landed")
        return True

    def land_all(self) -> None:
        """Round by round, up to the largest value that is there now."""
        if self._column is None:
            self.land()
            return
        goal = self._ask_upper(None)
        while goal is not None and self._last != goal and self.land():
            pass

    def keep_landing(self, every_seconds: float) -> None:
        """Goes on in the background while queries of the session run; it ends when none did for a while."""
        name = f"landing.{self._source.name}"
        threading.Thread(target=self._keep, args=(every_seconds,), name=name, daemon=True).start()

    def close(self) -> None:
        self._stop.set()

    def _keep(self, every_seconds: float) -> None:
        pause, idle_seconds = every_seconds, 0.0
        while idle_seconds < _LONGEST_REST_SECONDS and not self._stop.wait(pause):
            try:
                # A query that failed is started again after a pause.
                idle_seconds = 0.0 if self._spark.streams.active else idle_seconds + pause
                if not idle_seconds:
                    while not self._stop.is_set() and self.land():
                        pass
                self.trouble, pause = None, every_seconds
            except (SourceFailed, PySparkException, Py4JError, OSError) as error:
                if self._stop.is_set() or not self._spark_is_there():
                    return
                # The stream lives on what has landed; the database may come back.
                if self.trouble is None:
                    log.warning("source %s: %s; trying again", self._source.name, error)
                self.trouble, pause = error, min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _spark_is_there(self) -> bool:
        context = self._spark.sparkContext._jsc
        try:
            return context is not None and not context.sc().isStopped()
        except (Py4JError, OSError):  # its JVM is gone
            return False

    # --- the folder ---

    def _found(self) -> tuple[int, str | None]:
        """The number of the last file, and the largest value in it; without files, where to begin."""
        landed = [name for name in self._folder.names() if name.endswith(_ENDING)]
        if not landed:
            return -1, self._begin_after()
        number = int(landed[-1].removesuffix(_ENDING))
        note: dict[str, Any] = json.loads(self._folder.read_text(f"{_NOTES}/{number}.json"))
        return number, note["upper"]

    def _stage(self, rows: DataFrame, number: int) -> None:
        # One file, because one move makes it count. A read in parts stays one in parts.
        with database_blamed(self._source):
            is_in_parts = any(name.lower() == "numpartitions" for name, _ in self._source.options)
            one = rows.repartition(1) if is_in_parts else rows.coalesce(1)
            one.write.mode("overwrite").parquet(self._folder.path(f"{_STAGING}/{number}"))

    def _publish(self, number: int) -> None:
        staged = f"{_STAGING}/{number}"
        [file] = [name for name in self._folder.names(staged) if name.endswith(_ENDING)]
        if not self._folder.move(f"{staged}/{file}", f"{number:012d}{_ENDING}"):
            raise SourceUnreachable(f"{self._folder.path(staged)} could not be moved")
        self._folder.remove(_STAGING)

    # --- the database ---

    def _growing_column(self) -> tuple[str | None, DataType]:
        wanted = self._source.incremental
        if wanted is None:
            return None, StringType()
        for each in self.schema.fields:
            if each.name.lower() == wanted.lower():
                known = NumericType | StringType | DateType | TimestampType | TimestampNTZType
                if not isinstance(each.dataType, known):
                    raise SourceFailed(
                        f"incremental: {wanted} is of type {each.dataType.simpleString()}: only numbers, "
                        "dates, timestamps and text grow"
                    )
                return each.name, each.dataType
        near = nearest(wanted, self.schema.names)
        hint = f"; did you mean {near}?" if near else ""
        raise SourceFailed(
            f"incremental: {relation_of(self._source)} in {address_of(self._source)} has no column {wanted}{hint}"
        )

    def _begin_after(self) -> str | None:
        """`after` as Spark writes such a value: the same text as of one that was read."""
        after = self._source.after
        if after is None:
            return None
        value = f.lit(after).try_cast(self._kind).cast("string")
        found = self._spark.range(1).select(value).first()
        if found is None or found[0] is None:
            kind = self._kind.simpleString()
            raise SourceFailed(f"after: {after!r} is no {kind}, which {self._column} is")
        return str(found[0])

    def _ask_upper(self, limit: int | None) -> str | None:
        """The largest new value; with a limit, the largest of the first so many. Asked before the rows are read, so
        that all rows up to it are read, also those that share it."""
        column = self._quoted_column()
        new = f"SELECT {column} FROM {self._relation()}{self._where()}"
        if limit is not None:
            is_short = self._source.jdbc.startswith(_SAY_LIMIT)
            first = f"LIMIT {limit}" if is_short else f"OFFSET 0 ROWS FETCH NEXT {limit} ROWS ONLY"
            new = f"{new} ORDER BY {column} {first}"
        asked = f"(SELECT MAX({column}) AS {_UPPER} FROM ({new}) klamm_new) klamm_asked"
        rows = read_relation(self._spark, self._source, asked)
        with database_blamed(self._source):
            found = rows.select(f.col(rows.columns[0]).cast(self._kind).cast("string")).first()
        return None if found is None or found[0] is None else str(found[0])

    def _rows_up_to(self, upper: str) -> str:
        where = self._where()
        up_to = f"{self._quoted_column()} <= {self._literal(upper)}"
        where = f"{where} AND {up_to}" if where else f" WHERE {up_to}"
        return f"(SELECT * FROM {self._relation()}{where}) klamm_rows"

    def _where(self) -> str:
        if self._last is None:
            return ""
        return f" WHERE {self._quoted_column()} > {self._literal(self._last)}"

    def _relation(self) -> str:
        return relation_of(self._source)

    def _quoted_column(self) -> str:
        assert self._column is not None
        assert self._spark._jvm is not None
        dialects = self._spark._jvm.org.apache.spark.sql.jdbc.JdbcDialects
        return str(dialects.get(self._source.jdbc).quoteIdentifier(self._column))

    def _literal(self, text: str) -> str:
        """The value as every JDBC driver takes it. Sessions have Java's clock in UTC, as Spark's own."""
        quoted = "'" + text.replace("'", "''") + "'"
        match self._kind:
            case NumericType():
                return text
            case DateType():
                return f"{{d {quoted}}}"
            case TimestampType() | TimestampNTZType():
                return f"{{ts {quoted}}}"
            case _:
                return quoted
