"""How a running pipeline is doing: facts of one moment, from the progress that Spark reports of each query.

Pure: JSON in, facts out. Spark's typed progress holds Python's way to print offsets; only its JSON can be read back.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias

# By topic and partition: where the log ends.
Ends: TypeAlias = Mapping[tuple[str, int], int]

# The names under which the running code counts rows with DataFrame.observe.
DROPPED_PREFIX = "dropped."
READ_PREFIX = "read."
DEAD_LETTERS = "dead_letters"
WRITTEN = "written"
# Queries whose whole output is dead letters.
DEAD_LETTER_QUERY_PREFIX = "dead-letters."

_NAMES_SHOWN = 5
_CONNECTOR = "KafkaV2["
_NO_WATERMARK = "1970-01-01T00:00:00.000Z"


@dataclass(frozen=True, slots=True, order=True)
class PartitionProgress:
    """How far a query is in one partition: `next_offset` is the first it has not processed."""

    topic: str
    partition: int
    next_offset: int
    # Where the log ends, as last heard; None if nobody said.
    end_offset: int | None

    @property
    def lag(self) -> int | None:
        return None if self.end_offset is None else max(0, self.end_offset - self.next_offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReport:
    """One query: its last batch, and what it has done since it was started. Without a batch all is zero or None."""

    name: str
    batch_id: int | None = None
    # When the last batch, or the last look for records, began.
    at_ms: int | None = None
    batch_ms: int | None = None
    batch_records: int = 0
    input_per_second: float = 0.0
    # None where neither the sink nor the running code counts what is written.
    output_per_second: float | None = None
    watermark_ms: int | None = None
    state_rows: int = 0
    state_bytes: int = 0
    partitions: tuple[PartitionProgress, ...] = ()
    # Since the start of the query.
    batches: int = 0
    input_records: int = 0
    output_records: int | None = None
    # Those that came to the state behind the watermark. Spark counts an aggregation's after its first, partial step: one
    # row is all late records of a group in a task.
    late_rows: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    dead_letters: int = 0
    # By source: records with fields that its schema does not name, and some of these names.
    unknown: Mapping[str, int] = field(default_factory=dict)
    unknown_names: tuple[str, ...] = ()

    @property
    def lag(self) -> int | None:
        """Of all partitions; None if it is not known of any."""
        return _sum_known(each.lag for each in self.partitions)

    @property
    def dropped_records(self) -> int:
        return sum(self.dropped.values())

    @property
    def unknown_records(self) -> int:
        return sum(self.unknown.values())

    def to_dict(self) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in _PLAIN_FIELDS}
        partitions = [
            {
                "topic": each.topic,
                "partition": each.partition,
                "next_offset": each.next_offset,
                "end_offset": each.end_offset,
                "lag": each.lag,
            }
            for each in self.partitions
        ]
        return {
            **facts,
            "lag": self.lag,
            "dropped": dict(self.dropped),
            "unknown": dict(self.unknown),
            "unknown_names": list(self.unknown_names),
            "partitions": partitions,
        }


_PLAIN_FIELDS = (
    "name",
    "batch_id",
    "at_ms",
    "batch_ms",
    "batch_records",
    "input_per_second",
    "output_per_second",
    "watermark_ms",
    "state_rows",
    "state_bytes",
    "batches",
    "input_records",
    "output_records",
    "late_rows",
    "dead_letters",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A pipeline at one moment."""

    pipeline: str
    queries: tuple[QueryReport, ...]

    @property
    def dead_letters(self) -> int:
        """Every query over a source sees its bad records; the query that writes them counts them once."""
        writers = [q for q in self.queries if q.name.startswith(DEAD_LETTER_QUERY_PREFIX)]
        if writers:
            return sum(query.dead_letters for query in writers)
        return max((query.dead_letters for query in self.queries), default=0)

    @property
    def lag(self) -> int | None:
        """What the query that is furthest behind has still to read, partition by partition."""
        worst: dict[tuple[str, int], int] = {}
        for query in self.queries:
            for each in query.partitions:
                if each.lag is not None:
                    place = (each.topic, each.partition)
                    worst[place] = max(worst.get(place, 0), each.lag)
        return sum(worst.values()) if worst else None

    def have_begun(self, names: Collection[str] | None) -> bool:
        """Whether the queries of these names, or all, have a checkpoint to go on from, so that a start position no
        longer counts."""
        queries = [query for query in self.queries if names is None or query.name in names]
        return bool(queries) and all(query.batches for query in queries)

    @property
    def partitions(self) -> set[tuple[str, int]]:
        """Those that some query reads."""
        return {(each.topic, each.partition) for query in self.queries for each in query.partitions}

    def with_ends(self, ends: Ends) -> Report:
        """Spark says where a log ended when a batch was planned; records have come since."""
        return replace(self, queries=tuple(_with_ends(query, ends) for query in self.queries))

    def to_dict(self) -> dict[str, Any]:
        return {
            "pipeline": self.pipeline,
            "lag": self.lag,
            "dead_letters": self.dead_letters,
            "queries": [query.to_dict() for query in self.queries],
        }


def _with_ends(query: QueryReport, ends: Ends) -> QueryReport:
    return replace(
        query,
        partitions=tuple(
            replace(
                each, end_offset=_later(each.end_offset, ends.get((each.topic, each.partition)))
            )
            for each in query.partitions
        ),
    )


def _later(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


class Reporter:
    """Adds up what Spark says of each query. Spark forgets a batch with the next one, so give it all of them."""

    def __init__(self, pipeline: str, queries: Sequence[str] = ()) -> None:
        """`queries` are those that will report, so that one without a batch is shown as well."""
        self._pipeline = pipeline
        self._queries = {name: QueryReport(name=name) for name in queries}
        self._last_batches: dict[str, tuple[str, int]] = {}

    def add(self, progress_json: str) -> bool:
        """Takes one StreamingQueryProgress.json; True if it tells of a batch that was not known yet."""
        progress = json.loads(progress_json)
        name = progress["name"]
        before = self._queries.get(name) or QueryReport(name=name)
        batch = (progress["runId"], progress["batchId"])
        is_new = _is_batch(progress) and batch != self._last_batches.get(name)
        if is_new:
            self._last_batches[name] = batch
            self._queries[name] = after_batch(before, progress)
        elif not _is_batch(progress):
            self._queries[name] = while_idle(before, progress)
        return is_new

    def report(self) -> Report:
        return Report(pipeline=self._pipeline, queries=tuple(self._queries.values()))


def after_batch(before: QueryReport, progress: Mapping[str, Any]) -> QueryReport:
    """The query after one more batch."""
    observed = progress.get("observedMetrics") or {}
    batch_ms = int(progress["durationMs"].get("triggerExecution", progress["batchDuration"]))
    records = int(progress["numInputRows"])
    written = _written(progress, observed)
    dead_letters = _count(observed.get(DEAD_LETTERS))
    if DEAD_LETTERS not in observed and before.name.startswith(DEAD_LETTER_QUERY_PREFIX):
        dead_letters = written or 0
    states = progress.get("stateOperators") or ()
    seconds = _seconds(progress, records, batch_ms)
    return QueryReport(
        name=before.name,
        batch_id=int(progress["batchId"]),
        at_ms=_time_ms(progress["timestamp"]),
        batch_ms=batch_ms,
        batch_records=records,
        input_per_second=records / seconds,
        output_per_second=None if written is None else written / seconds,
        watermark_ms=_watermark_ms(progress) or before.watermark_ms,
        state_rows=sum(state["numRowsTotal"] for state in states),
        state_bytes=sum(state["memoryUsedBytes"] for state in states),
        partitions=_partitions(progress) or before.partitions,
        batches=before.batches + 1,
        input_records=before.input_records + records,
        output_records=_sum_known((before.output_records, written)),
        late_rows=before.late_rows
        + sum(state.get("numRowsDroppedByWatermark", 0) for state in states),
        dropped=_added(before.dropped, observed),
        dead_letters=before.dead_letters + dead_letters,
        unknown=_unknown(before.unknown, observed),
        unknown_names=_more_names(before.unknown_names, observed),
    )


def while_idle(before: QueryReport, progress: Mapping[str, Any]) -> QueryReport:
    """Spark says every ten seconds that it waits: nothing flows, and the ends of the logs are known anew."""
    return replace(
        before,
        at_ms=_time_ms(progress["timestamp"]),
        batch_records=0,
        input_per_second=0.0,
        output_per_second=None if before.output_per_second is None else 0.0,
        partitions=_partitions(progress) or before.partitions,
    )


def _is_batch(progress: Mapping[str, Any]) -> bool:
    """While it waits, a query reports the number that its next batch will have."""
    return "addBatch" in progress["durationMs"]


def _seconds(progress: Mapping[str, Any], records: int, batch_ms: int) -> float:
    """From the beginning of the batch before to that of this one; for a query's first batch, the time that it took."""
    rate = progress.get("inputRowsPerSecond") or 0.0
    return records / rate if records and rate > 0 else max(batch_ms, 1) / 1000


def _written(progress: Mapping[str, Any], observed: Mapping[str, Any]) -> int | None:
    if WRITTEN in observed:
        return _count(observed[WRITTEN])
    # A sink of ours is a function to Spark, which says -1: it does not know.
    rows = int((progress.get("sink") or {}).get("numOutputRows", -1))
    return rows if rows >= 0 else None


def _added(before: Mapping[str, int], observed: Mapping[str, Any]) -> dict[str, int]:
    dropped = dict(before)
    for name, row in observed.items():
        if name.startswith(DROPPED_PREFIX):
            check = name.removeprefix(DROPPED_PREFIX)
            dropped[check] = dropped.get(check, 0) + _count(row)
    return dropped


def _unknown(before: Mapping[str, int], observed: Mapping[str, Any]) -> dict[str, int]:
    """The count of what was read also has how much of it had fields that the schema does not name."""
    counts = dict(before)
    for name, row in observed.items():
        if name.startswith(READ_PREFIX) and (count := (row or {}).get("unknown")):
            source = name.removeprefix(READ_PREFIX)
            counts[source] = counts.get(source, 0) + count
    return counts


def _more_names(before: tuple[str, ...], observed: Mapping[str, Any]) -> tuple[str, ...]:
    read = [row or {} for name, row in observed.items() if name.startswith(READ_PREFIX)]
    found = [row.get(each) for row in read for each in ("first_unknown", "last_unknown")]
    # Fields may be named after users: a few show what is meant.
    return tuple(dict.fromkeys((*before, *filter(None, found))))[:_NAMES_SHOWN]


def _count(row: Any) -> int:
    """An observation is a row of aggregates; these have one, a count, under whatever name."""
    return sum(value for value in (row or {}).values() if isinstance(value, int))


def _partitions(progress: Mapping[str, Any]) -> tuple[PartitionProgress, ...]:
    return tuple(sorted(_each_partition(progress["sources"])))


def _each_partition(sources: Iterable[Mapping[str, Any]]) -> Iterator[PartitionProgress]:
    seen: dict[tuple[str, int], PartitionProgress] = {}
    for source in sources:
        if not source["description"].startswith(_CONNECTOR):
            continue
        ends = source.get("latestOffset") or {}
        for topic, partitions in (source["endOffset"] or {}).items():
            for number, offset in partitions.items():
                end = ends.get(topic, {}).get(number)
                found = PartitionProgress(topic, int(number), offset, end)
                # A join of a topic with itself reads it twice: the slower reading is the query's.
                other = seen.setdefault((topic, int(number)), found)
                seen[topic, int(number)] = min(other, found, key=lambda each: each.next_offset)
    yield from seen.values()


def _watermark_ms(progress: Mapping[str, Any]) -> int | None:
    text = (progress.get("eventTime") or {}).get("watermark")
    return None if text is None or text == _NO_WATERMARK else _time_ms(text)


def _time_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def _sum_known(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
