"""Where a pipeline writes: topics, tables, Parquet files, databases and the terminal."""

# ruff: noqa: RUF009 - `entry` is `dataclasses.field`, not a value computed once

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from klamm.pipeline.spec.kinds import Choice, Flag, ListOf, Options, Text, Whole
from klamm.pipeline.spec.model.sources import Pairs, RecordFormat, TableFormat
from klamm.pipeline.spec.model.steps import OutputMode
from klamm.pipeline.spec.model.values import COLUMN, JDBC_URL, NAME, SQL, TABLE, TOPIC, VIEW
from klamm.pipeline.spec.sections import OneOf, entry


class Delivery(StrEnum):
    """How often a record arrives when something fails in between."""

    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


class LostMarker(StrEnum):
    """What happens to a batch of which nobody can tell whether it was written."""

    FAIL = "fail"
    WRITE = "write"
    SKIP = "skip"


class WriteMode(StrEnum):
    """Whether rows are added, or replace the row with the same key."""

    APPEND = "append"
    UPSERT = "upsert"


_NAME_DOC = "Its name in reports and in the checkpoint; keep it when you reorder sinks."
_NAME_DEFAULT = "what it is and where it writes to: topic.page-stats"
_FROM_DOC = "The view it writes."
_FROM_DEFAULT = "the last step; without steps, the source"
_DELIVERY_DOC = "How often a record arrives when something fails in between."
_DELIVERY_DEFAULT = "the strongest that the sink can give"
_OUTPUT_DOC = "Which rows of an aggregation are written: finished ones, changed ones, or all."
_OPTIONS_DOC = "Further options of Spark's writer, by their names in Spark."
_KEY_DOC = (
    "The columns of the key; needed for upsert. Of several rows of one batch with the same key the last one stays; "
    "where rows have no order (behind a join or a window), make one row per key in SQL."
)
_BOTH = (Delivery.AT_LEAST_ONCE, Delivery.EXACTLY_ONCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSink:
    """Writes records to a topic."""

    LEADS: ClassVar[tuple[str, ...]] = ("topic",)

    topic: str = entry(TOPIC, "The topic.")
    key: str | None = entry(SQL, "A column or SQL expression for the record's key.", default=None)
    format: RecordFormat = entry(
        Choice(RecordFormat),
        "How the value is encoded. text and bytes write the one column value.",
        default=RecordFormat.JSON,
    )
    schema: str | None = entry(
        Text("an Avro schema in JSON"), "For avro: the schema.", default=None
    )
    headers: str | None = entry(
        COLUMN, "A column with the headers: an array of (key string, value binary).", default=None
    )
    delivery: Delivery | None = entry(
        Choice(Delivery), _DELIVERY_DOC, default=None, default_words=_DELIVERY_DEFAULT
    )
    writers: int = entry(
        Whole(1, 64),
        "With exactly_once: how many tasks write a batch, each in a transaction of its own.",
        default=1,
    )
    lost_marker: LostMarker = entry(
        Choice(LostMarker),
        "With exactly_once: what happens when the offset that marks the last batch has expired in a long rest, so that "
        "nobody can tell whether the next batch is in the topic already. write may write it twice, skip may leave it out.",
        default=LostMarker.FAIL,
    )
    output: OutputMode = entry(Choice(OutputMode), _OUTPUT_DOC, default=OutputMode.APPEND)
    from_view: str | None = entry(
        VIEW, _FROM_DOC, default=None, name="from", default_words=_FROM_DEFAULT
    )
    name: str | None = entry(NAME, _NAME_DOC, default=None, default_words=_NAME_DEFAULT)
    options: Pairs = entry(
        Options(),
        "Further settings of the producer, by their names in Kafka.",
        default=(),
        from_environment=True,
    )

    @property
    def label(self) -> str:
        return self.name or _label("topic", self.topic)

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        return _BOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSink:
    """Writes rows to a table of a database."""

    LEADS: ClassVar[tuple[str, ...]] = ("jdbc",)

    jdbc: str = entry(JDBC_URL, "The database.", from_environment=True)
    table: str = entry(TABLE, "The table.")
    mode: WriteMode = entry(
        Choice(WriteMode), "Whether rows are added or replaced by key.", default=WriteMode.APPEND
    )
    key: tuple[str, ...] = entry(ListOf(COLUMN, or_one=True), _KEY_DOC, default=())
    user: str | None = entry(Text(), "The user.", default=None, from_environment=True)
    password: str | None = entry(
        Text(),
        "The password; ${NAME} takes it from the environment.",
        default=None,
        secret=True,
        from_environment=True,
    )
    driver: str | None = entry(
        Text("the name of a Java class"), "The driver's class, if Spark cannot tell.", default=None
    )
    delivery: Delivery | None = entry(
        Choice(Delivery), _DELIVERY_DOC, default=None, default_words=_DELIVERY_DEFAULT
    )
    output: OutputMode = entry(Choice(OutputMode), _OUTPUT_DOC, default=OutputMode.APPEND)
    from_view: str | None = entry(
        VIEW, _FROM_DOC, default=None, name="from", default_words=_FROM_DEFAULT
    )
    name: str | None = entry(NAME, _NAME_DOC, default=None, default_words=_NAME_DEFAULT)
    options: Pairs = entry(Options(), _OPTIONS_DOC, default=(), from_environment=True)

    @property
    def label(self) -> str:
        return self.name or _label("jdbc", self.table)

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        # A replayed upsert writes the same row again; a replayed append adds it again.
        return _BOTH if self.mode is WriteMode.UPSERT else (Delivery.AT_LEAST_ONCE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSink:
    """Keeps the result as an Iceberg or Delta table, which is created if it is not there."""

    LEADS: ClassVar[tuple[str, ...]] = ("table",)

    table: str = entry(TABLE, "The table.")
    format: TableFormat = entry(
        Choice(TableFormat), "The table's format.", default=TableFormat.ICEBERG
    )
    mode: WriteMode = entry(
        Choice(WriteMode), "Whether rows are added or replaced by key.", default=WriteMode.APPEND
    )
    key: tuple[str, ...] = entry(ListOf(COLUMN, or_one=True), _KEY_DOC, default=())
    partition_by: tuple[str, ...] = entry(
        ListOf(COLUMN, or_one=True),
        "Columns or transforms (days(at)) that partition a new table.",
        default=(),
    )
    delivery: Delivery | None = entry(
        Choice(Delivery), _DELIVERY_DOC, default=None, default_words=_DELIVERY_DEFAULT
    )
    lost_marker: LostMarker = entry(
        Choice(LostMarker),
        "With iceberg and append: what happens when the snapshot that names the last batch has expired in a long rest, "
        "so that nobody can tell whether the next batch is in the table already. write may write it twice, skip may "
        "leave it out.",
        default=LostMarker.FAIL,
    )
    output: OutputMode = entry(Choice(OutputMode), _OUTPUT_DOC, default=OutputMode.APPEND)
    from_view: str | None = entry(
        VIEW, _FROM_DOC, default=None, name="from", default_words=_FROM_DEFAULT
    )
    name: str | None = entry(NAME, _NAME_DOC, default=None, default_words=_NAME_DEFAULT)
    options: Pairs = entry(Options(), _OPTIONS_DOC, default=(), from_environment=True)

    @property
    def label(self) -> str:
        return self.name or _label("table", self.table)

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        return _BOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetSink:
    """Writes Parquet files into a folder."""

    LEADS: ClassVar[tuple[str, ...]] = ("parquet",)

    parquet: str = entry(Text("a path"), "The folder.", from_environment=True)
    partition_by: tuple[str, ...] = entry(
        ListOf(COLUMN, or_one=True), "Columns that make subfolders.", default=()
    )
    delivery: Delivery | None = entry(
        Choice(Delivery), _DELIVERY_DOC, default=None, default_words=_DELIVERY_DEFAULT
    )
    from_view: str | None = entry(
        VIEW, _FROM_DOC, default=None, name="from", default_words=_FROM_DEFAULT
    )
    name: str | None = entry(NAME, _NAME_DOC, default=None, default_words=_NAME_DEFAULT)
    options: Pairs = entry(Options(), _OPTIONS_DOC, default=(), from_environment=True)

    @property
    def label(self) -> str:
        return self.name or _label("parquet", self.parquet)

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        return _BOTH

    @property
    def output(self) -> OutputMode:
        """Files are only added to."""
        return OutputMode.APPEND


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSink:
    """Shows the first rows of each batch in the terminal."""

    LEADS: ClassVar[tuple[str, ...]] = ("console",)

    console: bool = entry(Flag(), "true.")
    rows: int = entry(Whole(1, 10_000), "How many rows of a batch are shown.", default=20)
    delivery: Delivery | None = entry(
        Choice(Delivery), _DELIVERY_DOC, default=None, default_words="at_least_once"
    )
    output: OutputMode = entry(Choice(OutputMode), _OUTPUT_DOC, default=OutputMode.APPEND)
    from_view: str | None = entry(
        VIEW, _FROM_DOC, default=None, name="from", default_words=_FROM_DEFAULT
    )
    name: str | None = entry(NAME, _NAME_DOC, default=None, default_words="console")

    @property
    def label(self) -> str:
        return self.name or "console"

    @property
    def deliveries(self) -> tuple[Delivery, ...]:
        return (Delivery.AT_LEAST_ONCE,)


Sink = TopicSink | JdbcSink | TableSink | ParquetSink | ConsoleSink


def _label(kind: str, target: str) -> str:
    """A name for a sink that has none, fit for a folder: two kinds may write to things of one name."""
    return f"{kind}.{re.sub('[^A-Za-z0-9._-]+', '-', target).strip('-')}"


# The database first: its sink has a table as well.
SINK = OneOf("a sink", (JdbcSink, TopicSink, TableSink, ParquetSink, ConsoleSink))
