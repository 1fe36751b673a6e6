"""What must be in every sink, computed record by record in plain Python."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fuzz.pipelines.clock import Clock
from fuzz.pipelines.drawing.case import Case, Plan
from fuzz.pipelines.drawing.expressions import Row
from fuzz.pipelines.drawing.records import Record
from fuzz.pipelines.drawing.stateful import Dedupe, Pairs, Windows, times
from fuzz.pipelines.drawing.steps import Item, sent

MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Letter:
    """A record that must be among the dead letters, and the check that it did not pass."""

    record: Record
    check: str


@dataclass(frozen=True, slots=True)
class Expected:
    """`may`: rows of which nobody can tell. `is_ordered`: rows of one origin and one key have the source's order."""

    must: list[Item]
    may: list[Item] = field(default_factory=list)
    is_ordered: bool = False


def letters(case: Case) -> list[Letter]:
    return [
        Letter(record, check)
        for _, record in _records(case)
        if (check := _verdict(case, record)) is not None and _is_kept(case, check)
    ]


def expected(case: Case, sink: Plan) -> Expected:
    """Raises Unclear if it depends on batches."""
    items = [
        Item(record.row, run, f"{case.sources[0].topic}/{record.partition}")
        for run, record in _records(case)
        if _verdict(case, record) is None and record.row is not None
    ]
    clock = _clock(case, items, is_complete=sink.output == "complete")
    is_ordered, last_seen = True, clock
    for number, step in enumerate(case.steps[: sink.view + 1]):
        if isinstance(step, Dedupe | Windows | Pairs):
            last_seen = clock.seen_by(times(items))
        if isinstance(step, Pairs):
            last_seen = last_seen.held_back_by(times(sent(step.other)))
        items = [i for i in step.apply(items, clock) if _fails(case, number, i.row) is None]
        is_ordered = is_ordered and step.keeps_order
    if sink.output != "append" or not any(item.until for item in items):
        return Expected(items, is_ordered=is_ordered)
    return _final(items, last_seen)


def _final(items: list[Item], clock: Clock) -> Expected:
    must, may = [], []
    for item in items:
        is_past = item.until is None or clock.is_past_at_last(item.until)
        if is_past:
            must.append(item)
        elif is_past is None or item.is_loose:
            may.append(item)
    return Expected(must, may)


def _clock(case: Case, items: list[Item], *, is_complete: bool) -> Clock:
    # All of a result can only be given each time if nothing is ever forgotten.
    delay_ms = 0 if is_complete else (case.delay_seconds or 0) * 1000
    return Clock.of(delay_ms, case.runs, times(items))


def _records(case: Case) -> Iterable[tuple[int, Record]]:
    """What was sent to the first source and not taken back, and in which run."""
    for run, chunks in enumerate(case.sources[0].runs):
        for chunk in chunks:
            if chunk.transaction != "abort":
                yield from ((run, record) for record in chunk.records)


def _verdict(case: Case, record: Record) -> str | None:
    if record.row is None:
        return MALFORMED
    return _fails(case, -1, record.row)


def _fails(case: Case, view: int, row: Row) -> str | None:
    """The name of the first check on this view that the row does not pass."""
    return next(
        (c.name for c in case.checks if c.view == view and c.condition.of(row) is not True), None
    )


def _is_kept(case: Case, check: str) -> bool:
    if case.dead_letter is None:
        return False
    if check == MALFORMED:
        return case.sources[0].malformed in (None, "dead_letter")
    return any(each.name == check and each.otherwise == "dead_letter" for each in case.checks)
