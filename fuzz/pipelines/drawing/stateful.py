"""Steps that remember: deduplication, windows, sessions, counts, joins of two streams, state of one's own."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from fuzz.pipelines.clock import Clock
from fuzz.pipelines.drawing.expressions import Columns, Row
from fuzz.pipelines.drawing.records import Source
from fuzz.pipelines.drawing.steps import Item, sent

# Between the time that ends the wait of a row and the time at which it must have come.
_MARGIN_MS = 60_000


def times(items: Iterable[Item]) -> list[tuple[int, int]]:
    return [(item.run, item.row["at"]) for item in items if item.row["at"] is not None]


@dataclass(frozen=True, slots=True)
class Dedupe:
    columns: Columns
    is_forever: bool
    # Rows that came from one partition are shuffled together, in their order.
    keeps_order: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        return {"dedupe": "id", **({"forever": True} if self.is_forever else {})}

    def apply(self, items: list[Item], clock: Clock) -> list[Item]:
        seen: dict[Any, int] = {}
        here = clock.seen_by(times(items))
        kept = []
        for item in items:
            id, at = item.row["id"], item.row["at"]
            # Who never forgets a key knows no late record.
            if clock.delay_ms and not self.is_forever and here.is_past(at, item.run):
                continue
            if id in seen and (self.is_forever or not here.is_past(seen[id], item.run)):
                continue
            seen[id] = 0 if self.is_forever else at + clock.delay_ms
            kept.append(item)
        return kept


@dataclass(frozen=True, slots=True)
class Windows:
    """Counts by user and window; sessions if there is no size."""

    size_seconds: int | None
    slide_seconds: int
    keeps_order: bool = False

    keys = ("user", "start")

    @property
    def columns(self) -> Columns:
        return {"user": "string", "start": "timestamp", "c": "bigint", "total": "bigint"}

    @property
    def facts(self) -> dict[str, Any]:
        if self.size_seconds is None:
            window, name = f"session_window(at, '{self.slide_seconds} seconds')", "session_window"
        else:
            sizes = f"'{self.size_seconds} seconds', '{self.slide_seconds} seconds'"
            window, name = f"window(at, {sizes})", "window"
        counts = "count(*) AS c, sum(n) AS total"
        return {
            "sql": f"SELECT user, {name}.start AS start, {counts} FROM previous GROUP BY user, {window}"
        }

    def apply(self, items: list[Item], clock: Clock) -> list[Item]:
        """With no clock nothing is late: so it is where all of the result is given each time."""
        here = clock.seen_by(times(items)) if clock.delay_ms else None
        spans: dict[tuple[str | None, int, int], list[Item]] = defaultdict(list)
        if self.size_seconds is None:
            spans = self._sessions([i for i in items if not _is_late(here, i, self._end(i))])
        else:
            for item in items:
                for start in self._starts(item.row["at"]):
                    end = start + self.size_seconds * 1000
                    if not _is_late(here, item, end):
                        spans[item.row["user"], start, end].append(item)
        return [
            Item(_counted({"user": user, "start": start}, group), group[-1].run, "", until=end)
            for (user, start, end), group in spans.items()
        ]

    def _end(self, item: Item) -> int:
        return int(item.row["at"]) + self.slide_seconds * 1000

    def _starts(self, at: int) -> list[int]:
        assert self.size_seconds is not None
        slide = self.slide_seconds * 1000
        last = at // slide * slide
        return list(range(last, at - self.size_seconds * 1000, -slide))

    def _sessions(self, items: list[Item]) -> dict[tuple[str | None, int, int], list[Item]]:
        by_user: dict[str | None, list[Item]] = defaultdict(list)
        for item in items:
            by_user[item.row["user"]].append(item)
        found = {}
        for user, mine in by_user.items():
            group: list[Item] = []
            for item in sorted(mine, key=lambda each: each.row["at"]):
                if group and item.row["at"] > self._end(group[-1]):
                    found[user, group[0].row["at"], self._end(group[-1])] = group
                    group = []
                group.append(item)
            found[user, group[0].row["at"], self._end(group[-1])] = group
        return found


@dataclass(frozen=True, slots=True)
class Running:
    """Counts by user, over all time."""

    keeps_order: bool = False

    keys = ("user",)

    @property
    def columns(self) -> Columns:
        return {"user": "string", "c": "bigint", "total": "bigint"}

    @property
    def facts(self) -> dict[str, Any]:
        return {"sql": "SELECT user, count(*) AS c, sum(n) AS total FROM previous GROUP BY user"}

    def apply(self, items: list[Item], clock: Clock) -> list[Item]:
        by_user: dict[str | None, list[Item]] = defaultdict(list)
        for item in items:
            by_user[item.row["user"]].append(item)
        return [
            Item(_counted({"user": user}, mine), mine[-1].run, "") for user, mine in by_user.items()
        ]


@dataclass(frozen=True, slots=True)
class Numbering:
    """State of one's own: numbers the rows of each user."""

    keeps_order: bool = False

    @property
    def columns(self) -> Columns:
        return {"user": "string", "c": "bigint"}

    @property
    def facts(self) -> dict[str, Any]:
        schema = "user string, c bigint"
        return {"state": "fuzz_steps:Numbering", "by": "user", "schema": schema}

    def apply(self, items: list[Item], clock: Clock) -> list[Item]:
        counts: dict[str | None, int] = defaultdict(int)
        numbered = []
        for item in items:
            user = item.row["user"]
            counts[user] += 1
            numbered.append(replace(item, row={"user": user, "c": counts[user]}))
        return numbered


@dataclass(frozen=True, slots=True)
class Pairs:
    """A join with another stream, within some seconds."""

    before: Columns
    other: Source
    seconds: int
    is_left: bool
    keeps_order: bool = False

    @property
    def columns(self) -> Columns:
        return {**self.before, "other_seq": "bigint", "other_n": "int"}

    @property
    def facts(self) -> dict[str, Any]:
        near = f"INTERVAL {self.seconds} SECONDS"
        on = f"p.user = o.user AND o.at BETWEEN p.at - {near} AND p.at + {near}"
        chosen = "p.*, o.seq AS other_seq, o.n AS other_n"
        how = "LEFT JOIN" if self.is_left else "JOIN"
        return {"sql": f"SELECT {chosen} FROM previous p {how} other o ON {on}"}

    def apply(self, items: list[Item], clock: Clock) -> list[Item]:
        by_user: dict[str, list[Row]] = defaultdict(list)
        for other in sent(self.other):
            if other.row["user"] is not None:
                by_user[other.row["user"]].append(other.row)
        found = []
        for item in items:
            matches = [
                {**item.row, "other_seq": other["seq"], "other_n": other["n"]}
                for other in by_user.get(item.row["user"], ())
                if abs(item.row["at"] - other["at"]) <= self.seconds * 1000
            ]
            found += [replace(item, row=row) for row in matches]
            if self.is_left and not matches:
                found.append(self._alone(item))
        return found

    def _alone(self, item: Item) -> Item:
        """Given on when nothing can match any more. The watermark is the older one of both, and rounds: who knows when."""
        return replace(
            item,
            row={**item.row, "other_seq": None, "other_n": None},
            until=item.row["at"] + self.seconds * 1000 + _MARGIN_MS,
            is_loose=True,
        )


def _is_late(here: Clock | None, item: Item, end: int) -> bool:
    return here is not None and here.is_past(end, item.run)


def _counted(key: Row, group: list[Item]) -> Row:
    numbers = [item.row["n"] for item in group if item.row["n"] is not None]
    return {**key, "c": len(group), "total": sum(numbers) if numbers else None}
