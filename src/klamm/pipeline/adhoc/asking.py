"""SQL over topics and tables. A name that Spark does not know becomes a view: of the topic of that name, or of a table.

Spark itself finds the names in the SQL: it is asked, it says which one it misses, and is asked again when that is there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.adhoc.answer import Answer
from klamm.pipeline.adhoc.known import Known, NothingOfThatName, in_backticks, same_name, unknown
from klamm.pipeline.adhoc.lake import full_name, short_name
from klamm.pipeline.adhoc.mistakes import WrongSql, mistake_of
from klamm.pipeline.names import CATALOG, DEFAULT_NAMESPACE
from klamm.pipeline.place import Place
from klamm.pipeline.sources.topics import read_topics_now
from klamm.pipeline.spec.problems import nearest

_TUNING = {
    # A large partition is read by several cores; a small one is not worth a second consumer.
    "maxRecordsPerPartition": "250000",
    # Records come out of the consumer in portions of this size, by default 500.
    "kafka.max.poll.records": "5000",
}
_REFRESH = re.compile(
    r"\s*REFRESH\s+(?:TABLE\s+)?(?P<name>\w+|`(?:[^`]|``)+`)\s*;?\s*", re.IGNORECASE
)


@dataclass(slots=True)
class Desk:
    """Answers questions in one session."""

    spark: SparkSession
    place: Place
    known: Known
    # Views of ours: the topics by the views' names, and the names of those that show a table.
    _topics: dict[str, str] = field(default_factory=dict)
    _tables: list[str] = field(default_factory=list)

    def ask(self, sql: str, *, limit: int | None = None) -> Answer:
        """The first rows of the result, and whether there are more. Raises WrongSql and NothingOfThatName."""
        if (names := self.known.shown(sql, self._all_tables)) is not None:
            return names.cut(limit)
        if (refresh := _REFRESH.fullmatch(sql)) and self._is_forgotten(_plain(refresh["name"])):
            return Answer([], [])
        self._drop_what_is_gone()
        try:
            rows = self._resolved(sql)
            found = (rows if limit is None else rows.limit(limit + 1)).toArrow()
        except (PySparkException, Py4JJavaError) as error:
            raise WrongSql(mistake_of(error, sql), sql) from error
        finally:
            # Made anew each time: the table may be another one by then.
            while self._tables:
                self.spark.catalog.dropTempView(self._tables.pop())
        columns = [column.to_pylist() for column in found.columns]
        return Answer(found.column_names, list(zip(*columns, strict=True))).cut(limit)

    def means_topic(self, name: str) -> bool:
        """Whether the topic of this name is what Spark would read: nobody has made a view or table of that name."""
        is_ours = same_name(name, self._topics) is not None
        return is_ours or not self.spark.catalog.tableExists(in_backticks(name))

    def warm_up(self) -> list[str]:
        """The first question of a session costs seconds more than the second. Gives the names of all functions."""
        found = self.spark.sql("SHOW FUNCTIONS").toArrow()
        return [name for name in found.column(0).to_pylist() if name.isidentifier()]

    def cancel(self) -> None:
        """Ends what is being asked, from another thread: the one that waits gets an error."""
        self.spark.sparkContext.cancelAllJobs()

    def _resolved(self, sql: str) -> DataFrame:
        tried: set[str] = set()
        while True:
            try:
                return self.spark.sql(sql)
            except AnalysisException as error:
                name = _missing_relation(error)
                if name is None:
                    self.known.check_dots(sql)
                    raise
                if name in tried:
                    raise
                tried.add(name)
                self._provide(name, sql)

    def _provide(self, name: str, sql: str) -> None:
        parts = _parts(name)
        if len(parts) > 1:
            self.known.check_dots(sql)
            tables = [full_name(each) for each in self._all_tables()]
            raise NothingOfThatName(".".join(parts), nearest(".".join(parts), tables))
        [wanted] = parts
        topics = self.known.topics()
        tables = [short for each in self._all_tables() if (short := short_name(each))]
        if topic := same_name(wanted, topics):
            source = self.known.source_of(topic).source
            self._view(wanted, read_topics_now(self.spark, source, self.place, tuning=_TUNING))
            self._topics[wanted] = topic
        elif table := same_name(wanted, tables):
            full = f"{CATALOG}.{DEFAULT_NAMESPACE}.{in_backticks(table)}"
            self._view(wanted, self.spark.table(full))
            self._tables.append(wanted)
        else:
            raise unknown(wanted, [*topics, *tables])

    def _view(self, name: str, rows: DataFrame) -> None:
        rows.createOrReplaceTempView("`" + name.replace("`", "``") + "`")

    def _all_tables(self) -> list[str]:
        found = self.known.tables()
        if found is not None:
            return found
        try:
            rows = self.spark.sql(f"SHOW TABLES IN {CATALOG}.{DEFAULT_NAMESPACE}").collect()
        except (PySparkException, Py4JJavaError):
            return []  # nothing was ever kept there
        return [f"{DEFAULT_NAMESPACE}.{row['tableName']}" for row in rows]

    def _is_forgotten(self, name: str) -> bool:
        """What was learned about a topic is learned anew when it is asked next."""
        view = same_name(name, self._topics)
        if view is None:
            return False
        self._drop([view])
        return True

    def _drop_what_is_gone(self) -> None:
        if self._topics:
            there = set(self.known.topics())
            self._drop([view for view, topic in self._topics.items() if topic not in there])

    def _drop(self, views: list[str]) -> None:
        for view in views:
            self.spark.catalog.dropTempView(view)
            self.known.forget(self._topics.pop(view))


def _missing_relation(error: AnalysisException) -> str | None:
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    return (error.getMessageParameters() or {}).get("relationName")


def _parts(name: str) -> list[str]:
    """Of a name as Spark writes it: `lake`.`default`.`page_stats`."""
    found = [part.replace("``", "`") for part in re.findall(r"`((?:[^`]|``)*)`", name)]
    return found or name.split(".")


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
