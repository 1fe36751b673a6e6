"""What a pipeline reads: topics, files and databases as streams; files, databases and tables as fixed tables."""

# ruff: noqa: RUF009 - `entry` is `dataclasses.field`, not a value computed once

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from klamm.pipeline.spec.ddl import Column, columns_of
from klamm.pipeline.spec.kinds import Choice, Flag, ListOf, Options, Text, Whole
from klamm.pipeline.spec.model.values import (
    COLUMN,
    JDBC_URL,
    SCHEMA,
    SQL,
    TABLE,
    TOPIC,
    VIEW,
    Duration,
    DurationKind,
    Edge,
    Start,
    StartKind,
)
from klamm.pipeline.spec.sections import OneOf, Section, entry

# Added to the decoded columns where a source of topics asks for them.
METADATA_COLUMNS = (
    Column("_key", "binary"),
    Column("_topic", "string"),
    Column("_partition", "int"),
    Column("_offset", "bigint"),
    Column("_timestamp", "timestamp"),
)
HEADERS_COLUMN = Column("_headers", "array")
RESCUED_COLUMN = Column("_rescued", "string")
# Names that a schema cannot use: these columns travel beside the value's own.
RESERVED_COLUMNS = frozenset(
    {
        *(column.name for column in (*METADATA_COLUMNS, HEADERS_COLUMN, RESCUED_COLUMN)),
        *("_source", "_corrupt"),
    }
)

# Options with which a file of JSON is not a list of lines in UTF-8.
NO_LINES = frozenset({"multiline", "encoding", "charset"})

Pairs = tuple[tuple[str, str], ...]


class RecordFormat(StrEnum):
    """How a record's value is encoded."""

    JSON = "json"
    AVRO = "avro"
    CSV = "csv"
    TEXT = "text"
    BYTES = "bytes"


class FileFormat(StrEnum):
    """How a file is written."""

    JSON = "json"
    CSV = "csv"
    TEXT = "text"
    PARQUET = "parquet"


class TableFormat(StrEnum):
    """Which table format keeps the table."""

    ICEBERG = "iceberg"
    DELTA = "delta"


class Otherwise(StrEnum):
    """What happens to a record that is not as it should be."""

    DROP = "drop"
    DEAD_LETTER = "dead_letter"
    FAIL = "fail"


class UnknownFields(StrEnum):
    """What happens to fields of a record that the schema does not name."""

    COUNT = "count"
    RESCUE = "rescue"
    IGNORE = "ignore"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """How late records may come: windows, joins and deduplication wait that long and then forget."""

    column: str = entry(COLUMN, "The column that holds the time of the event; a timestamp.")
    delay: Duration = entry(
        DurationKind(), "How long after the latest event an older one is still taken."
    )


_UNKNOWN_DOC = (
    "What happens to fields of a JSON object that the schema does not name (a name is taken as it is written, with its "
    "capitals): count shows how many records have some, and their names; rescue also keeps them in the column _rescued, "
    "as a JSON object; fail makes such a record malformed; ignore does not look for them, which is faster."
)
_WATERMARK = Section(Watermark, "a mapping such as {column: at, delay: 10 seconds}")
_NAME_DOC = "The view under which SQL reads it."
_OPTIONS_DOC = "Further options of Spark's reader, by their names in Spark."
_BATCH_DOC = "At most so many {} in one batch. Without it a batch takes all there is."


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSource:
    """A stream of records from topics."""

    LEADS: ClassVar[tuple[str, ...]] = ("topic", "topics", "pattern")

    name: str = entry(VIEW, _NAME_DOC, default="input")
    topics: tuple[str, ...] = entry(
        ListOf(TOPIC),
        "The topics to read: topic for one, topics for several.",
        default=(),
        single="topic",
    )
    pattern: str | None = entry(
        Text("a regular expression"),
        "A regular expression (Java's) in place of topics: every topic whose whole name matches, also later ones.",
        default=None,
    )
    format: RecordFormat = entry(
        Choice(RecordFormat),
        "How the value is encoded. text and bytes give one column, value.",
        default=RecordFormat.JSON,
    )
    schema: str | None = entry(
        Text("columns and their types, or an Avro schema"),
        "The columns of the value, as in CREATE TABLE; for avro the Avro schema in JSON. "
        "Needed for json, csv and avro.",
        default=None,
    )
    start: Start = entry(
        StartKind(),
        "Where to start when there is no checkpoint yet. Times are UTC unless they say otherwise; partitions without "
        "an offset start at the earliest record. For several topics: {topic: {partition: offset}}.",
        default=Edge.EARLIEST,
    )
    max_per_batch: int | None = entry(Whole(1), _BATCH_DOC.format("records"), default=None)
    metadata: bool = entry(
        Flag(),
        "Adds the columns _key (binary), _topic, _partition, _offset and _timestamp.",
        default=False,
    )
    headers: bool = entry(
        Flag(), "Adds the column _headers: an array of (key string, value binary).", default=False
    )
    malformed: Otherwise | None = entry(
        Choice(Otherwise),
        "What happens to a record that cannot be decoded.",
        default=None,
        default_words="dead_letter where the pipeline has one, else fail",
    )
    unknown_fields: UnknownFields | None = entry(
        Choice(UnknownFields), _UNKNOWN_DOC, default=None, default_words="count"
    )
    watermark: Watermark | None = entry(_WATERMARK, "How late records may come.", default=None)
    options: Pairs = entry(Options(), _OPTIONS_DOC, default=(), from_environment=True)

    def columns(self) -> tuple[Column, ...] | None:
        """The columns that steps will see, or None where only Spark can know."""
        if self.format is RecordFormat.AVRO:
            return None
        if self.format is RecordFormat.TEXT:
            decoded: tuple[Column, ...] = (Column("value", "string"),)
        elif self.format is RecordFormat.BYTES:
            decoded = (Column("value", "binary"),)
        else:
            decoded = columns_of(self.schema) if self.schema else ()
        if self.unknown_fields is UnknownFields.RESCUE:
            decoded += (RESCUED_COLUMN,)
        metadata = METADATA_COLUMNS if self.metadata else ()
        return decoded + metadata + ((HEADERS_COLUMN,) if self.headers else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """A stream of files as they appear in a folder; as a table, the files that are there."""

    LEADS: ClassVar[tuple[str, ...]] = ("files",)

    name: str = entry(VIEW, _NAME_DOC, default="input")
    files: str = entry(
        Text("a path, perhaps with *"), "The folder, or a path with *.", from_environment=True
    )
    format: FileFormat = entry(
        Choice(FileFormat), "How the files are written.", default=FileFormat.JSON
    )
    schema: str | None = entry(
        SCHEMA,
        "The columns. Without it Spark looks into the files that are there when the pipeline starts.",
        default=None,
    )
    max_per_batch: int | None = entry(Whole(1), _BATCH_DOC.format("files"), default=None)
    malformed: Otherwise | None = entry(
        Choice(Otherwise),
        "What happens to a line that cannot be decoded.",
        default=None,
        default_words="dead_letter where the pipeline has one, else fail",
    )
    unknown_fields: UnknownFields | None = entry(
        Choice(UnknownFields), _UNKNOWN_DOC, default=None, default_words="count"
    )
    watermark: Watermark | None = entry(_WATERMARK, "How late records may come.", default=None)
    options: Pairs = entry(Options(), _OPTIONS_DOC, default=(), from_environment=True)

    def columns(self) -> tuple[Column, ...] | None:
        """The columns that steps will see, or None where only Spark can know."""
        if self.format is FileFormat.TEXT:
            return (Column("value", "string"),)
        if self.schema is None:
            return None
        is_rescued = self.unknown_fields is UnknownFields.RESCUE
        return columns_of(self.schema) + ((RESCUED_COLUMN,) if is_rescued else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSource:
    """Rows of a database: all of them once, or by a growing column the new ones batch by batch."""

    LEADS: ClassVar[tuple[str, ...]] = ("jdbc",)

    name: str = entry(VIEW, _NAME_DOC, default="input")
    jdbc: str = entry(JDBC_URL, "The database.", from_environment=True)
    table: str | None = entry(TABLE, "The table to read: table or query.", default=None)
    query: str | None = entry(SQL, "A SELECT to read in place of a table.", default=None)
    incremental: str | None = entry(
        COLUMN,
        "A column that only grows (an id, a time of change): each batch reads the rows above the largest value seen.",
        default=None,
    )
    after: str | None = entry(
        Text(),
        "With incremental: read only rows above this value at the first start.",
        default=None,
    )
    max_per_batch: int | None = entry(Whole(1), _BATCH_DOC.format("rows"), default=None)
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
    watermark: Watermark | None = entry(_WATERMARK, "How late records may come.", default=None)
    options: Pairs = entry(Options(), _OPTIONS_DOC, default=(), from_environment=True)

    def columns(self) -> tuple[Column, ...] | None:
        """Only the database knows."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTable:
    """An Iceberg or Delta table; each batch sees it as it is then."""

    LEADS: ClassVar[tuple[str, ...]] = ("table",)

    name: str = entry(VIEW, _NAME_DOC)
    table: str = entry(TABLE, "The table's name.")
    format: TableFormat = entry(
        Choice(TableFormat), "The table's format.", default=TableFormat.ICEBERG
    )
    options: Pairs = entry(Options(), _OPTIONS_DOC, default=(), from_environment=True)


Source = TopicSource | FileSource | JdbcSource
Table = FileSource | JdbcSource | CatalogTable

SOURCE = OneOf("a source", (TopicSource, FileSource, JdbcSource))
TABLE_SECTION = OneOf("a table", (FileSource, JdbcSource, CatalogTable))
WATERMARK = _WATERMARK
