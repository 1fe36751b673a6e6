"""Steps without memory: what the file says of each, and what it does to rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Protocol

from fuzz.pipelines import formats
from fuzz.pipelines.clock import Clock
from fuzz.pipelines.drawing import expressions
from fuzz.pipelines.drawing.expressions import Columns, Expression, Row
from fuzz.pipelines.drawing.records import CORE, Source

# Kept by every step, so that rows can be told apart and have a time.
_KEPT = ("seq", "id", "user", "at", "n")


@dataclass(frozen=True, slots=True)
class Item:
    """A row on its way. `origin` is the source's partition; rows of one keep their order until something shuffles them."""

    row: Row
    run: int
    origin: str
    # The end of the window: where a result is given on when it is final, it waits for that time.
    until: int | None = None
    # It may also come earlier than that.
    is_loose: bool = False


def sent(source: Source) -> list[Item]:
    """The rows of a source that can be decoded and were not taken back, in the order of each partition."""
    return [
        Item(record.row, run, f"{source.topic}/{record.partition}")
        for run, chunks in enumerate(source.runs)
        for chunk in chunks
        if chunk.transaction != "abort"
        for record in chunk.records
        if record.row is not None
    ]


class Step(Protocol):
    @property
    def facts(self) -> dict[str, Any]: ...

    @property
    def columns(self) -> Columns:
        """Of the result."""

    @property
    def keeps_order(self) -> bool: ...

    def apply(self, items: list[Item], clock: Clock) -> list[Item]: ...


@dataclass(frozen=True, slots=True)
class Select:
    """A projection, perhaps with a filter, and perhaps several rows out of one."""

    parts: dict[str, Expression]
    where: Expression | None
    copies: int = 1
    source: str = "previous"
    keeps_order: bool = True

    @property
    def columns(self) -> Columns:
        copy = {"copy": "int"} if self.copies > 1 else {}
        return {name: part.type for name, part in self.parts.items()} | copy

    @property
    def facts(self) -> dict[str, Any]:
        chosen = [
            name if part.sql == name else f"{part.sql} AS {name}"
            for name, part in self.parts.items()
        ]
        view = ""
        if self.copies > 1:
            chosen.append("copy")
            numbers = ", ".join(map(str, range(self.copies)))
            view = f" LATERAL VIEW explode(array({numbers})) several AS copy"
        where = f" WHERE {self.where.sql}" if self.where else ""
        return {"sql": f"SELECT {', '.join(chosen)} FROM {self.source}{view}{where}"}

    def apply(self, items: list[Item], clock: Clock) -> list[Item]:
        return [
            replace(item, row=row)
            for item in items
            if self.where is None or self.where.of(item.row)
            for row in self._rows(item.row)
        ]

    def _rows(self, row: Row) -> Iterator[Row]:
        made = {name: part.of(row) for name, part in self.parts.items()}
        if self.copies == 1:
            yield made
        else:
            yield from ({**made, "copy": copy} for copy in range(self.copies))


def column(name: str, kind: str) -> Expression:
    return Expression(name, kind, lambda row: row[name])


def draw_select(chance: Random, before: Columns, *, may_filter: bool = True) -> Select:
    parts = {
        name: column(name, kind)
        for name, kind in before.items()
        if name in _KEPT or chance.random() < 0.85
    }
    for _ in range(chance.randrange(3)):
        name, value = expressions.value(chance, before)
        parts[name] = value
    is_filter = may_filter and chance.random() < 0.6
    where = expressions.condition(chance, before) if is_filter else None
    copies = 2 if may_filter and "copy" not in before and chance.random() < 0.12 else 1
    return Select(parts, where, copies)


def parse_text() -> Select:
    """Columns out of the one column of a text."""
    parts = {}
    for place, (name, kind) in enumerate(CORE.items()):
        piece = f"nullif(split(value, '[{formats.BETWEEN}]')[{place}], '')"
        sql = piece if kind == "string" else f"cast({piece} AS {kind})"
        parts[name] = Expression(sql, kind, column(name, kind).of)
    return Select(parts, None, source="input")


@dataclass(frozen=True, slots=True)
class Without:
    """A Python step: every so many rows less."""

    columns: Columns
    every: int
    keeps_order: bool = True

    @property
    def facts(self) -> dict[str, Any]:
        return {"python": "fuzz_steps:without", "arguments": {"every": self.every}}

    def apply(self, items: list[Item], clock: Clock) -> list[Item]:
        return [i for i in items if i.row["seq"] is None or i.row["seq"] % self.every != 0]


@dataclass(frozen=True, slots=True)
class Halves:
    """An Arrow step. It forgets the watermark, as does whatever Spark cannot look into."""

    columns: Columns
    keeps_order: bool = True

    @property
    def facts(self) -> dict[str, Any]:
        schema = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        return {"arrow": "fuzz_steps:halves", "schema": schema}

    def apply(self, items: list[Item], clock: Clock) -> list[Item]:
        return [item for item in items if item.row["n"] is not None]


@dataclass(frozen=True, slots=True)
class Loud:
    """A Python function in SQL."""

    before: Columns
    keeps_order: bool = True

    @property
    def columns(self) -> Columns:
        return {**self.before, "shout": "string"}

    @property
    def facts(self) -> dict[str, Any]:
        return {"sql": "SELECT *, loud(note) AS shout FROM previous"}

    def apply(self, items: list[Item], clock: Clock) -> list[Item]:
        return [replace(i, row={**i.row, "shout": _upper(i.row["note"])}) for i in items]


def _upper(note: str | None) -> str | None:
    return None if note is None else note.upper()


@dataclass(frozen=True, slots=True)
class Cities:
    """A join with a fixed table of users."""

    before: Columns
    cities: dict[str, str]
    is_left: bool
    keeps_order: bool = True

    @property
    def columns(self) -> Columns:
        return {**self.before, "city": "string"}

    @property
    def facts(self) -> dict[str, Any]:
        how = "LEFT JOIN" if self.is_left else "JOIN"
        return {"sql": f"SELECT p.*, c.city FROM previous p {how} cities c ON p.user = c.who"}

    def apply(self, items: list[Item], clock: Clock) -> list[Item]:
        found = [(item, self.cities.get(item.row["user"])) for item in items]
        return [
            replace(item, row={**item.row, "city": city})
            for item, city in found
            if self.is_left or city is not None
        ]


def draw_step(chance: Random, before: Columns, *, cities: dict[str, str], is_timed: bool) -> Step:
    """`is_timed`: a watermark must come through."""
    kinds = ["select"] * 5 + ["without"]
    if "note" in before and "shout" not in before:
        kinds.append("loud")
    if "city" not in before:
        kinds.append("cities")
    if "n" in before and not is_timed:
        kinds.append("halves")
    match chance.choice(kinds):
        case "without":
            return Without(before, chance.randrange(3, 8))
        case "loud":
            return Loud(before)
        case "cities":
            return Cities(before, cities, is_left=chance.random() < 0.6)
        case "halves":
            return Halves(before)
        case _:
            return draw_select(chance, before)
