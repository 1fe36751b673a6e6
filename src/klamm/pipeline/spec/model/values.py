"""The small values of a pipeline file: durations, start positions, triggers, names and schema texts."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from klamm.pipeline.spec.ddl import BadSchema, columns_of
from klamm.pipeline.spec.kinds import BAD, JsonSchema, Reading, Text, as_plain
from klamm.pipeline.spec.nodes import Entries, Node, Plain, Scalar
from klamm.pipeline.spec.problems import Path, nearest

_UNITS_MS = {
    "week": 604_800_000,
    "day": 86_400_000,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1000,
    "millisecond": 1,
}
_SHORT_UNITS = {
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
}
_MAX_DURATION_MS = 3650 * _UNITS_MS["day"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time. As text it is what Spark takes for an interval: `10 seconds`."""

    ms: int

    @classmethod
    def of(cls, text: str) -> "Duration":
        """`10 seconds`, `500ms`, `1 hour 30 minutes`. Raises ValueError with the word that is wrong."""
        total = 0
        rest = text.strip().lower()
        while rest:
            part = re.match(r"([0-9]{1,15})\s*([a-z]+)\s*", rest)
            if part is None:
                raise ValueError(rest)
            total += int(part[1]) * _UNITS_MS[_unit(part[2])]
            rest = rest[part.end() :]
        if not text.strip() or total > _MAX_DURATION_MS:
            raise ValueError(text)
        return cls(total)

    def __str__(self) -> str:
        for unit, ms in _UNITS_MS.items():
            if self.ms and self.ms % ms == 0:
                count = self.ms // ms
                return f"{count} {unit}{'' if count == 1 else 's'}"
        return "0 seconds"


def _unit(word: str) -> str:
    word = _SHORT_UNITS.get(word, word)
    single = word.removesuffix("s")
    single = _SHORT_UNITS.get(single, single)
    if single not in _UNITS_MS:
        raise ValueError(word)
    return single


@dataclass(frozen=True, slots=True)
class DurationKind:
    """A duration in words."""

    at_least_ms: int = 0
    words: str = "a duration such as 10 seconds or 5 minutes"

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            return reading.wrong(path, node, self.words)
        try:
            duration = Duration.of(node.value)
        except ValueError as wrong:
            units = [f"{unit}s" for unit in _UNITS_MS]
            return reading.wrong(path, node, self.words, nearest(str(wrong), units))
        if duration.ms < self.at_least_ms:
            return reading.wrong(path, node, f"at least {Duration(self.at_least_ms)}")
        return duration

    def write(self, value: object) -> Plain:
        return str(value) if isinstance(value, Duration) else as_plain(value)

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        return {"type": "string", "pattern": "^\\s*([0-9]+\\s*[A-Za-z]+\\s*)+$"}


class Edge(StrEnum):
    """An end of the log."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class FromTime:
    """The first record at or after a time, in milliseconds since 1970."""

    timestamp_ms: int

    def __str__(self) -> str:
        when = _EPOCH + timedelta(milliseconds=self.timestamp_ms)
        return "@" + when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, order=True)
class PartitionOffset:
    """Where one partition starts; `topic` is empty where the source reads only one."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class FromOffsets:
    """Given offsets; partitions that are not named start at the earliest record."""

    offsets: tuple[PartitionOffset, ...]


Start = Edge | FromTime | FromOffsets


def parse_time(text: str) -> FromTime:
    """`@2026-11-15T10:00` (UTC unless it says otherwise) or milliseconds; the @ may be left out. Raises ValueError."""
    body = text.removeprefix("@").strip()
    if re.fullmatch("[0-9]{10,14}", body):
        return FromTime(int(body))
    try:
        when = datetime.fromisoformat(body)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        timestamp_ms = (when - _EPOCH) // timedelta(milliseconds=1)
    except OverflowError:
        raise ValueError(text) from None
    if timestamp_ms < 0:
        raise ValueError(text)
    return FromTime(timestamp_ms)


@dataclass(frozen=True, slots=True)
class StartKind:
    """Where a source of topics starts when it has no checkpoint yet."""

    words: str = """earliest, latest, "@2026-11-15T10:00" or {partition: offset}"""

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        if isinstance(node, Entries) and node.pairs:
            return self._offsets(node, path, reading)
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            return reading.wrong(path, node, self.words)
        if node.value in (Edge.EARLIEST, Edge.LATEST):
            return Edge(node.value)
        if not re.match("@|[0-9]", node.value):
            return reading.wrong(path, node, self.words, nearest(node.value, list(Edge)))
        try:
            return parse_time(node.value)
        except ValueError:
            return reading.wrong(
                path, node, "a time such as @2026-11-15T10:00 or @2026-11-15T10:00Z"
            )

    def _offsets(self, node: Entries, path: Path, reading: Reading) -> object:
        found: dict[tuple[str, int], PartitionOffset] = {}
        problems_before = len(reading.problems)
        for key, value in node.pairs:
            if isinstance(value, Entries):
                for partition, offset in value.pairs:
                    at = (*path, key.text, partition.text)
                    self._offset(key.text, partition, offset, at, reading, found)
            else:
                self._offset("", key, value, (*path, key.text), reading, found)
        if len(reading.problems) > problems_before:
            return BAD
        if len({bool(topic) for topic, _ in found}) > 1:
            return reading.wrong(path, node, "either partitions or topics with their partitions")
        if not found:
            return reading.wrong(path, node, self.words)
        return FromOffsets(tuple(sorted(found.values())))

    def _offset(
        self,
        topic: str,
        partition: Scalar,
        offset: Node,
        path: Path,
        reading: Reading,
        found: dict[tuple[str, int], PartitionOffset],
    ) -> None:
        value = offset.value if isinstance(offset, Scalar) else None
        if not re.fullmatch("[0-9]{1,9}", partition.text):
            reading.wrong(path, partition, "the number of a partition")
        elif not isinstance(value, int) or isinstance(value, bool) or value < 0:
            reading.wrong(path, offset, "an offset: a whole number of at least 0")
        elif (topic, int(partition.text)) in found:
            reading.note(path, partition.mark, expected="each partition once", found="it twice")
        else:
            number = int(partition.text)
            found[topic, number] = PartitionOffset(topic, number, value)

    def write(self, value: object) -> Plain:
        if isinstance(value, FromTime):
            return str(value)
        if not isinstance(value, FromOffsets):
            return as_plain(value)
        written: dict[str, Plain] = {}
        for each in value.offsets:
            if each.topic:
                inner = written.setdefault(each.topic, {})
                assert isinstance(inner, dict)
                inner[str(each.partition)] = each.offset
            else:
                written[str(each.partition)] = each.offset
        return written

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        offsets = {"type": "object", "patternProperties": {"^[0-9]+$": {"type": "integer"}}}
        by_topic = {"type": "object", "additionalProperties": offsets, "minProperties": 1}
        text = {"type": "string", "pattern": "^(earliest|latest|@.+|[0-9].+)$"}
        return {"anyOf": [text, {**offsets, "minProperties": 1}, by_topic]}


class TriggerWhen(StrEnum):
    """When Spark takes the next records."""

    EVERY = "every"
    ONCE = "once"
    AVAILABLE_NOW = "available_now"
    CONTINUOUS = "continuous"


@dataclass(frozen=True, slots=True)
class Trigger:
    """When Spark takes the next records; the interval belongs to `every` and `continuous` and to no other."""

    when: TriggerWhen = TriggerWhen.EVERY
    interval: Duration | None = Duration(1000)


@dataclass(frozen=True, slots=True)
class TriggerKind:
    """`{every: 1 second}`, `once`, `available_now` or `{continuous: 1 second}`."""

    words: str = "{every: 1 second}, once, available_now or {continuous: 1 second}"

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        if isinstance(node, Scalar):
            if node.value in (TriggerWhen.ONCE, TriggerWhen.AVAILABLE_NOW):
                return Trigger(TriggerWhen(str(node.value)), None)
            return reading.wrong(path, node, self.words, nearest(node.text, list(TriggerWhen)))
        if not isinstance(node, Entries) or len(node.pairs) != 1:
            return reading.wrong(path, node, self.words)
        word, value = node.pairs[0]
        if word.text in (TriggerWhen.EVERY, TriggerWhen.CONTINUOUS):
            at_least_ms = 1 if word.text == TriggerWhen.CONTINUOUS else 0
            interval = DurationKind(at_least_ms).read(value, (*path, word.text), reading)
            return (
                Trigger(TriggerWhen(word.text), interval) if isinstance(interval, Duration) else BAD
            )
        if word.text in (TriggerWhen.ONCE, TriggerWhen.AVAILABLE_NOW):
            # `{once: true}` says the same as `once`.
            if isinstance(value, Scalar) and value.value is True:
                return Trigger(TriggerWhen(word.text), None)
            return reading.wrong((*path, word.text), value, "true")
        return reading.wrong(path, word, self.words, nearest(word.text, list(TriggerWhen)))

    def write(self, value: object) -> Plain:
        if not isinstance(value, Trigger):
            return as_plain(value)
        if value.interval is None:
            return value.when.value
        return {value.when.value: str(value.interval)}

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        duration = DurationKind().json_schema(defs)
        shapes: list[JsonSchema] = [{"enum": ["once", "available_now"]}]
        for word, inner in (
            ("every", duration),
            ("continuous", duration),
            ("once", {"const": True}),
            ("available_now", {"const": True}),
        ):
            shape: JsonSchema = {"type": "object", "properties": {word: inner}}
            shapes.append({**shape, "required": [word], "additionalProperties": False})
        return {"anyOf": shapes}


def _schema_problem(text: str) -> str | None:
    try:
        columns_of(text)
    except BadSchema as bad:
        return f'columns such as "user string, at timestamp": {bad}'
    return None


def _topic_problem(text: str) -> str | None:
    return "a topic's name, not . or .." if text in (".", "..") else None


_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_MODULE = rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})*"

NAME = Text(
    "a name of letters, digits, dots, dashes and underscores", "[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
)
VIEW = Text("a name of letters, digits and underscores", "[A-Za-z_][A-Za-z0-9_]{0,99}")
TOPIC = Text(
    "a topic's name (letters, digits, dots, dashes, underscores; at most 249)",
    "[A-Za-z0-9._-]{1,249}",
    _topic_problem,
)
FUNCTION = Text("module:function", rf"{_MODULE}:{_MODULE}")
TABLE = Text(
    "a table's name, such as page_stats or sales.page_stats",
    rf"{_IDENTIFIER}(?:\.{_IDENTIFIER}){{0,3}}",
)
JDBC_URL = Text("a JDBC address such as jdbc:postgresql://host/database", r"jdbc:\S+|\$\{.+")
COLUMN = Text("a column's name")
SQL = Text("SQL")
SCHEMA = Text("columns and their types", check=_schema_problem)
