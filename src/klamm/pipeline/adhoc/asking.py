"""SQL over topics and tables. A name that Spark does not know becomes a view: of the topic of that name, or of a table.

Spark itself finds the names in the SQL: it is asked, it says which one it misses, and is asked again when that is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.adhoc.mistakes import Mistake, mistake_of
from klamm.pipeline.adhoc.sampling import Looker
from klamm.pipeline.adhoc.topics import source_of
from klamm.pipeline.names import CATALOG, DEFAULT_NAMESPACE
from klamm.pipeline.place import Place
from klamm.pipeline.sources.topics import read_topics_now
from klamm.pipeline.spec import RecordFormat
from klamm.pipeline.spec.problems import nearest

# Topics that brokers keep for themselves are never what a misspelt name meant.
_INTERNAL = "__"


class NothingOfThatName(Exception):
    """Neither a topic nor a table. The text is for the user."""

    def __init__(self, name: str, near: str | None = None, hint: str | None = None) -> None:
        super().__init__(f"there is no topic and no table {name}")
        self.hint = hint or (f"did you mean {near}?" if near else None)


class WrongSql(Exception):
    """Spark does not understand the query, or could not compute it."""

    def __init__(self, mistake: Mistake, sql: str) -> None:
        super().__init__(mistake.shown_in(sql))
        self.mistake = mistake


@dataclass(slots=True)
class Desk:
    """Answers questions in one session. `say` hears what was learned about a topic."""

    spark: SparkSession
    place: Place
    looker: Looker
    schemas: Mapping[str, str] = field(default_factory=dict)
    format: RecordFormat | None = None
    say: Callable[[str], None] = lambda text: None

    def ask(self, sql: str, *, limit: int | None = None) -> Answer:
        """The first rows of the result, and whether there are more. Raises WrongSql and NothingOfThatName."""
        try:
            rows = self._resolved(sql)
            found = (rows if limit is None else rows.limit(limit + 1)).toArrow()
        except (PySparkException, Py4JJavaError) as error:
            raise WrongSql(mistake_of(error, sql), sql) from error
        names = _unique(found.column_names)
        columns = [column.to_pylist() for column in found.columns]
        all_rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return Answer(names, all_rows[:limit], has_more=limit is not None and len(all_rows) > limit)

    def _resolved(self, sql: str) -> DataFrame:
        tried: set[str] = set()
        while True:
            try:
                return self.spark.sql(sql)
            except AnalysisException as error:
                name = _missing_relation(error)
                if name is None:
                    self._check_dotted_topics(sql)
                    raise
                if name in tried:
                    raise
                tried.add(name)
                self._provide(name, sql)

    def _provide(self, name: str, sql: str) -> None:
        parts = _parts(name)
        topics = [each for each in self.looker.topics() if not each.startswith(_INTERNAL)]
        if len(parts) > 1:
            self._check_dotted_topics(sql)
            near = nearest(parts[-1], self._tables())
            full = near and f"{CATALOG}.{DEFAULT_NAMESPACE}.{near}"
            raise NothingOfThatName(".".join(parts), full)
        [wanted] = parts
        topic = _same_name(wanted, topics)
        if topic is not None:
            self._view_of_topic(wanted, topic)
        elif table := _same_name(wanted, self._tables()):
            self._view(wanted, self.spark.table(f"{CATALOG}.{DEFAULT_NAMESPACE}.`{table}`"))
        else:
            near = nearest(wanted, [*topics, *self._tables()])
            raise NothingOfThatName(wanted, near and _in_backticks(near))

    def _view_of_topic(self, name: str, topic: str) -> None:
        schema = self.schemas.get(topic)
        found = source_of(self.looker, topic, schema=schema, format=self.format)
        if found.learned:
            self.say(found.learned)
        if found.others:
            self.say(f"  {found.others} of them are no JSON objects: their columns are NULL")
        self._view(name, read_topics_now(self.spark, found.source, self.place))

    def _view(self, name: str, rows: DataFrame) -> None:
        rows.createOrReplaceTempView("`" + name.replace("`", "``") + "`")

    def _tables(self) -> list[str]:
        try:
            rows = self.spark.sql(f"SHOW TABLES IN {CATALOG}.{DEFAULT_NAMESPACE}").collect()
        except (PySparkException, Py4JJavaError):
            return []  # nothing was ever kept there
        return [row["tableName"] for row in rows]

    def _check_dotted_topics(self, sql: str) -> None:
        for topic in self.looker.topics():
            if "." in topic and re.search(rf"(?<![`\w.]){re.escape(topic)}(?![`\w.])", sql):
                hint = f"a topic with dots is written in backticks: `{topic}`"
                raise NothingOfThatName(f"{topic} for SQL", hint=hint)


@dataclass(frozen=True, slots=True)
class Answer:
    names: list[str]
    rows: list[dict[str, object]]
    has_more: bool


def _missing_relation(error: AnalysisException) -> str | None:
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    return (error.getMessageParameters() or {}).get("relationName")


def _parts(name: str) -> list[str]:
    """Of a name as Spark writes it: `lake`.`default`.`page_stats`."""
    return [part.replace("``", "`") for part in re.findall(r"`((?:[^`]|``)*)`", name)]


def _same_name(wanted: str, names: list[str]) -> str | None:
    """SQL does not tell capitals from small letters; topics do, so the exact name comes first."""
    if wanted in names:
        return wanted
    return next((name for name in names if name.lower() == wanted.lower()), None)


def _in_backticks(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else f"`{name}`"


def _unique(names: list[str]) -> list[str]:
    """A join may give a name twice; a row has each only once."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return result
