"""SQL over topics and tables. A name that Spark does not know becomes a view: of the topic of that name, or of a table.

Spark itself finds the names in the SQL: it is asked, it says which one it misses, and is asked again when that is there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from klamm.pipeline.adhoc.answer import Answer
from klamm.pipeline.adhoc.keeping import Shelf
from klamm.pipeline.adhoc.known import Known, NothingOfThatName, in_backticks, same_name, unknown
from klamm.pipeline.adhoc.lake import full_name, short_name
from klamm.pipeline.adhoc.mistakes import WrongSql, mistake_of
from klamm.pipeline.adhoc.sampling import Span
from klamm.pipeline.names import CATALOG, DEFAULT_NAMESPACE
from klamm.pipeline.place import Place
from klamm.pipeline.sources.topics import read_topics_now
from klamm.pipeline.spec.problems import nearest

# A large partition is read by several cores; a small one is not worth a second consumer.
_RECORDS_PER_TASK = 100_000
_TUNING = {
    # Records come out of the consumer in portions of this size, by default 500.
    "kafka.max.poll.records": "5000",
}
# Of so many records at each end of a partition the size is looked at.
_FEW = 20
# A few records, as they come: to keep all for that would make people wait.
_GLANCE = re.compile(
    r"\s*SELECT\s+(?!DISTINCT\b)[^()]+?\sFROM\s+(?:\w+|`(?:[^`]|``)+`)(?:\s+LIMIT\s+\d+)?\s*;?\s*",
    re.IGNORECASE,
)
_EXPLAIN = re.compile(
    r"\s*EXPLAIN\s+(?:(?:EXTENDED|CODEGEN|COST|FORMATTED)\s+)?(?P<query>(?:SELECT|WITH|FROM)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_REFRESH = re.compile(
    r"\s*REFRESH\s+(?:TABLE\s+)?(?P<name>\w+|`(?:[^`]|``)+`)\s*;?\s*", re.IGNORECASE
)


@dataclass(slots=True)
class Desk:
    """Answers questions in one session."""

    spark: SparkSession
    place: Place
    known: Known
    # Whether more questions are to come, so that it pays to keep what one of them reads.
    keeps: bool = False
    _shelf: Shelf = field(default_factory=Shelf)
    # Of ours, while one question is asked.
    _views: list[str] = field(default_factory=list)

    def ask(self, sql: str, *, limit: int | None = None) -> Answer:
        """The first rows of the result, and whether there are more. Raises WrongSql and NothingOfThatName."""
        if (names := self.known.shown(sql, self._all_tables)) is not None:
            return names.cut(limit)
        if (refresh := _REFRESH.fullmatch(sql)) and self._is_forgotten(_plain(refresh["name"])):
            return Answer([], [])
        try:
            if explained := _EXPLAIN.fullmatch(sql):
                # It would show a missing name as its plan.
                self._resolved(explained["query"])
            rows = self._resolved(sql)
            found = (rows if limit is None else rows.limit(limit + 1)).toArrow()
        except (PySparkException, Py4JJavaError) as error:
            raise WrongSql(mistake_of(error, sql), sql) from error
        finally:
            # Made anew each time: topic and table may be others by then, or hold more.
            while self._views:
                self.spark.catalog.dropTempView(self._views.pop())
        columns = [column.to_pylist() for column in found.columns]
        return Answer(found.column_names, list(zip(*columns, strict=True))).cut(limit)

    def means_topic(self, name: str) -> bool:
        """Whether the topic of this name is what Spark would read: nobody has made a view or table of that name."""
        return not self.spark.catalog.tableExists(in_backticks(name))

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
            self._view(wanted, self._rows_of(topic, sql))
        elif table := same_name(wanted, tables):
            full = f"{CATALOG}.{DEFAULT_NAMESPACE}.{in_backticks(table)}"
            self._view(wanted, self.spark.table(full))
        else:
            raise unknown(wanted, [*topics, *tables])

    def _view(self, name: str, rows: DataFrame) -> None:
        # A view of what is kept must not be just that, or it goes with the view.
        rows.filter(f.lit(True)).createOrReplaceTempView("`" + name.replace("`", "``") + "`")
        self._views.append(name)

    def _rows_of(self, topic: str, sql: str) -> DataFrame:
        source = self.known.source_of(topic).source
        extent = self.known.looker.extent(topic)

        def read(spans: list[Span] | None = None) -> DataFrame:
            count = sum(span.end - span.begin for span in spans or (extent.spans if extent else ()))
            offsets = {topic: {each.partition: (each.begin, each.end) for each in spans or ()}}
            return read_topics_now(
                self.spark,
                source,
                self.place,
                tuning={**_TUNING, "minPartitions": str(1 + count // _RECORDS_PER_TASK)},
                offsets=offsets if spans else None,
            )

        if not self.keeps or extent is None or extent.is_compacted or _GLANCE.fullmatch(sql):
            return read()
        sizes = [len(value or b"") for value in self.known.looker.sample(topic, per_end=_FEW)]
        value_bytes = sum(sizes) / max(1, len(sizes))
        kept = self._shelf.rows_of(topic, extent, value_bytes, read) if extent.records else None
        return read() if kept is None else kept

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
        topic = same_name(name, self.known.learned_topics)
        if topic is None:
            return False
        self.known.forget(topic)
        self._shelf.forget(topic)
        return True


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
