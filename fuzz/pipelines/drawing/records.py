"""Topics and what is sent to them, run by run: repeated, skewed, late, malformed, with tombstones and aborted transactions."""

import zlib
from dataclasses import dataclass, field
from random import Random

from fuzz.pipelines import formats
from fuzz.pipelines.drawing.expressions import Columns, Row

CORE: Columns = {
    "seq": "bigint",
    "id": "bigint",
    "user": "string",
    "n": "int",
    "at": "timestamp",
    "note": "string",
}
_MORE: Columns = {"price": "double", "ok": "boolean", "tags": "array<string>"}
_NOTES = ("a", "bb", "ccc", "grün", "日本", "x y", 'q"q', "a,b", "😀", "", " pad ", "two\nlines")
_BASE_MS = 1_790_000_000_000
# Long before everything else.
_LATE_MS = 100_000_000
_GAPS_SECONDS = (1, 4, 40, 400)


@dataclass(frozen=True, slots=True)
class Record:
    """`row` is what it decodes to: None where it is malformed."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    row: Row | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records that are sent together: by themselves, or in a transaction that is committed or aborted."""

    records: tuple[Record, ...]
    transaction: str | None = None


@dataclass(slots=True, kw_only=True)
class Source:
    """One source: its topic, and what is sent to it in each run."""

    name: str
    topic: str
    partitions: int
    format: str
    columns: Columns
    delay_seconds: int | None
    malformed: str | None
    has_headers: bool
    runs: list[list[Chunk]] = field(default_factory=list)

    @property
    def view(self) -> Columns:
        """The columns that the pipeline sees."""
        more = {formats.HEADERS: formats.HEADERS_TYPE} if self.has_headers else {}
        return self.columns | more

    @property
    def span_ms(self) -> int:
        """All events of a run, but late ones, are within the watermark's delay: none of them depends on batches."""
        return (self.delay_seconds or 20) * 1000 - 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """What the records of a case are like."""

    users: int
    is_skewed: bool
    repeats: float
    malformed: float
    late: float
    tombstones: float
    aborted: float
    most: int


def draw_source(
    chance: Random,
    *,
    name: str,
    topic: str,
    delay_seconds: int | None,
    malformed: str | None,
) -> Source:
    format = chance.choices(formats.FORMATS, (5, 3, 2, 1))[0]
    more = {
        column: kind
        for column, kind in _MORE.items()
        if chance.random() < 0.5 and (kind != "array<string>" or format in ("json", "avro"))
    }
    return Source(
        name=name,
        topic=topic,
        partitions=chance.choice((1, 1, 2, 3)),
        format=format,
        columns=CORE | ({} if format == "text" else more),
        delay_seconds=delay_seconds,
        malformed=malformed,
        has_headers=format != "text" and chance.random() < 0.25,
    )


class Sender:
    """Draws what all sources are sent, run after run, in one time."""

    def __init__(self, chance: Random, mood: Mood) -> None:
        self._chance = chance
        self._mood = mood
        self._seq = 0
        self._begin_ms = _BASE_MS
        self._known: list[Row] = []

    def add_run(self, *sources: Source, is_first: bool) -> None:
        chance = self._chance
        count = chance.randrange(self._mood.most // 4, self._mood.most) + 1
        latest_ms = self._begin_ms
        for source in sources:
            records = [self._record(source, is_first=is_first) for _ in range(count)]
            normal = [each.row["at"] for each in records if each.row and each.row["at"]]
            latest_ms = max([latest_ms, *normal])
            source.runs.append(self._chunks(records))
        self._begin_ms = latest_ms + chance.choice(_GAPS_SECONDS) * 1000

    def _chunks(self, records: list[Record]) -> list[Chunk]:
        chance, chunks = self._chance, []
        while records:
            size = chance.randrange(1, 60)
            how = None
            if chance.random() < self._mood.aborted:
                how = chance.choice(("commit", "abort"))
            chunks.append(Chunk(tuple(records[:size]), how))
            records = records[size:]
        return chunks

    def _record(self, source: Source, *, is_first: bool) -> Record:
        chance, mood = self._chance, self._mood
        user = self._user()
        partition = zlib.crc32(user.encode()) % source.partitions if user else 0
        key = user.encode() if user else None
        if chance.random() < mood.tombstones:
            return Record(partition, key, None, (), dict.fromkeys(source.view))
        row = self._row(source, user, is_late=not is_first and chance.random() < mood.late)
        value = formats.encode(source.format, source.columns, row)
        headers = (("trace", b"%d" % row["seq"]),) if chance.random() < 0.2 else ()
        if chance.random() < mood.malformed:
            bad = formats.damaged(chance, source.format, value, source.columns)
            return Record(partition, key, bad, headers, None)
        if source.has_headers:
            row[formats.HEADERS] = headers or None
        return Record(partition, key, value, headers, row)

    def _user(self) -> str | None:
        chance, mood = self._chance, self._mood
        if mood.is_skewed and chance.random() < 0.7:
            return "u0"
        if chance.random() < 0.05:
            return None
        return f"{chance.choice('uuab')}{chance.randrange(mood.users)}"

    def _row(self, source: Source, user: str | None, *, is_late: bool) -> Row:
        chance = self._chance
        self._seq += 1
        at = self._begin_ms + chance.randrange(0, source.span_ms, 250)
        if is_late:
            at -= _LATE_MS
        mine = [row for row in self._known[-200:] if row["user"] == user]
        if mine and chance.random() < self._mood.repeats:
            again = chance.choice(mine)
            row = {**self._fresh(source, user, at), **again, "seq": self._seq, "at": at}
            return {name: row[name] for name in source.columns}
        row = self._fresh(source, user, at)
        self._known.append({"id": row["id"], "user": user, "n": row["n"]})
        return row

    def _fresh(self, source: Source, user: str | None, at: int) -> Row:
        chance = self._chance
        row = {
            "seq": self._seq,
            "id": self._seq * 10,
            "user": user,
            "n": None if chance.random() < 0.1 else chance.randrange(-60, 100),
            "at": at,
            "note": self._note(source.format),
            "price": None if chance.random() < 0.1 else chance.randrange(40) / 4,
            "ok": chance.choice((True, False, None)),
            "tags": None
            if chance.random() < 0.2
            else [chance.choice("xyz") for _ in range(chance.randrange(3))],
        }
        return {name: row[name] for name in source.columns}

    def _note(self, format: str) -> str | None:
        note = None if self._chance.random() < 0.2 else self._chance.choice(_NOTES)
        # Parts of a text and Spark's CSV know no empty text but NULL, and a line of CSV is one line.
        if format in ("csv", "text") and note is not None:
            note = note.replace("\n", " ") or None
        return note
