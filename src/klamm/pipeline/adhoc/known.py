"""What SQL may name: the topics of the cluster and the tables of the lake, and what was learned about them. No Spark."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from klamm.pipeline.adhoc.answer import Answer
from klamm.pipeline.adhoc.lake import full_name, short_name, tables_in
from klamm.pipeline.adhoc.sampling import Looker
from klamm.pipeline.adhoc.topics import Found, SchemaNeeded, source_of
from klamm.pipeline.spec import METADATA_COLUMNS, RecordFormat
from klamm.pipeline.spec.checks.sql import reads_of
from klamm.pipeline.spec.ddl import BadSchema, columns_of
from klamm.pipeline.spec.problems import nearest

# Topics that brokers keep for themselves are never what a misspelt name meant.
_INTERNAL = "__"
_SHOW_TABLES = re.compile(
    r"\s*SHOW\s+TABLES(?:\s+(?:LIKE\s+)?(['\"])(?P<pattern>.*)\1)?\s*;?\s*", re.IGNORECASE
)
_QUERY = re.compile(r"[\s(]*(SELECT|WITH|FROM)\b", re.IGNORECASE)


class NothingOfThatName(Exception):
    """Neither a topic nor a table. The text is for the user."""

    def __init__(self, name: str, near: str | None = None, hint: str | None = None) -> None:
        super().__init__(f"there is no topic and no table {name}")
        self.hint = hint or (f"did you mean {near}?" if near else None)


@dataclass(slots=True)
class Known:
    """What is learned about a topic is kept until `forget`. `say` hears of it."""

    looker: Looker
    warehouse: str
    schemas: Mapping[str, str] = field(default_factory=dict)
    format: RecordFormat | None = None
    say: Callable[[str], None] = lambda text: None
    _learned: dict[str, Found] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)

    def topics(self) -> list[str]:
        found = [each for each in self.looker.topics() if not each.startswith(_INTERNAL)]
        for gone in set(self._learned) - set(found):
            self.forget(gone)
        return found

    def tables(self) -> list[str] | None:
        """With their namespaces; None where only Spark can look."""
        return tables_in(self.warehouse)

    def shown(self, sql: str, tables: Callable[[], list[str] | None]) -> Answer | None:
        """SHOW TABLES: topics and tables. None for any other statement, and where the tables cannot be told."""
        show = _SHOW_TABLES.fullmatch(sql)
        found = tables() if show else None
        if show is None or found is None:
            return None
        wanted = [re.compile(fnmatch.translate(p), re.IGNORECASE) for p in _either(show["pattern"])]
        rows: list[tuple[object, ...]] = [
            (name, kind)
            for name, kind in names_in_sql(self.topics(), found)
            if not wanted or any(each.match(name.strip("`")) for each in wanted)
        ]
        return Answer(["name", "kind"], rows)

    def check(self, statements: Iterable[str]) -> None:
        """Raises NothingOfThatName where no new session could know a name. What is not sure is left to Spark."""
        for sql in statements:
            if not _QUERY.match(sql):
                return  # it may be what makes the name
            self._check(sql)

    def _check(self, sql: str) -> None:
        reads = reads_of(sql)
        tables = self.tables()
        if not reads.views or tables is None:
            return
        topics = self.topics()
        names = [*topics, *(name for each in tables if (name := short_name(each)))]
        for name in reads.unknown(names):
            self.check_dots(sql, topics)
            # A name with a dash needs backticks, as Spark says better.
            if not re.search(rf"(?<![\w`]){re.escape(name)}\s*-(?!-)", sql):
                raise unknown(name, names)

    def check_dots(self, sql: str, topics: Iterable[str] | None = None) -> None:
        """To SQL a topic with dots is a table with its catalog."""
        for topic in self.topics() if topics is None else topics:
            if "." in topic and re.search(rf"(?<![`\w.]){re.escape(topic)}(?![`\w.])", sql):
                hint = f"a topic with dots is written in backticks: `{topic}`"
                raise NothingOfThatName(f"{topic} for SQL", hint=hint)

    def source_of(self, topic: str) -> Found:
        found = self._learn(topic)
        if topic not in self._said:
            self._said.add(topic)
            if found.learned:
                self.say(found.learned)
            if found.others:
                self.say(f"  {found.others} of them are no JSON objects: their columns are NULL")
        return found

    def columns_of(self, topic: str) -> list[str]:
        """For those who only want to know, so nothing is said."""
        try:
            schema = self._learn(topic).source.schema
            own = [each.name for each in columns_of(schema or "value string")]
        except (BadSchema, SchemaNeeded):
            own = []  # Avro's schemas are no list of columns
        return [*own, *(each.name for each in METADATA_COLUMNS)]

    @property
    def learned_topics(self) -> list[str]:
        return list(self._learned)

    def forget(self, topic: str) -> None:
        self._learned.pop(topic, None)
        self._said.discard(topic)

    def _learn(self, topic: str) -> Found:
        found = self._learned.get(topic)
        if found is None:
            schema = self.schemas.get(topic)
            found = source_of(self.looker, topic, schema=schema, format=self.format)
            self._learned[topic] = found
        return found


def unknown(name: str, names: Iterable[str]) -> NothingOfThatName:
    near = nearest(name, list(names))
    return NothingOfThatName(name, near and in_backticks(near))


def same_name(wanted: str, names: Iterable[str]) -> str | None:
    """SQL does not tell capitals from small letters; topics do, so the exact name comes first."""
    names = list(names)
    if wanted in names:
        return wanted
    return next((name for name in names if name.lower() == wanted.lower()), None)


def in_backticks(name: str) -> str:
    """As SQL writes it; without backticks where it can."""
    is_plain = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
    return name if is_plain else "`" + name.replace("`", "``") + "`"


def names_in_sql(topics: Iterable[str], tables: Iterable[str]) -> list[tuple[str, str]]:
    """Each with its kind. A table has its short name where no topic has it."""
    found = [(in_backticks(topic), "topic") for topic in topics]
    taken = {topic.lower() for topic in topics}
    for table in tables:
        short = short_name(table)
        is_free = short is not None and short.lower() not in taken
        found.append((short if is_free and short else full_name(table), "table"))
    return found


def _either(pattern: str | None) -> list[str]:
    """Spark's patterns: * is anything, | is or."""
    return [] if pattern is None else [each.strip() for each in pattern.split("|")]
