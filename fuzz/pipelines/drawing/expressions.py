"""SQL that is drawn, each with a twin in Python. NULL is None, and unknown is None, too."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
# Names and Spark's types, in order.
Columns: TypeAlias = dict[str, str]


@dataclass(frozen=True, slots=True)
class Expression:
    sql: str
    type: str
    of: Callable[[Row], Any]


def condition(chance: Random, columns: Mapping[str, str], *, depth: int = 2) -> Expression:
    """True for a good part of the rows, and never an error."""
    if depth and chance.random() < 0.4:
        return _combined(chance, columns, depth - 1)
    simple = [make for kind, make in _CONDITIONS if kind in columns]
    sql, of = chance.choice(simple)(chance)
    return Expression(sql, "boolean", of)


def value(chance: Random, columns: Mapping[str, str]) -> tuple[str, Expression]:
    """A column's name and what it becomes."""
    possible = [(name, make) for name, needs, make in _VALUES if needs <= columns.keys()]
    name, make = chance.choice(possible)
    kind = "int" if name in ("n", "rest", "len") else "string" if name != "price" else "double"
    sql, of = make(chance)
    return name, Expression(sql, kind, of)


def _combined(chance: Random, columns: Mapping[str, str], depth: int) -> Expression:
    first = condition(chance, columns, depth=depth)
    how = chance.choice(("NOT", "AND", "OR"))
    if how == "NOT":
        return Expression(f"NOT ({first.sql})", "boolean", lambda row: _not(first.of(row)))
    second = condition(chance, columns, depth=depth)
    sql = f"({first.sql}) {how} ({second.sql})"
    # OR is AND of the opposites, and Python's own rules for None are others than SQL's.
    if how == "AND":
        return Expression(sql, "boolean", lambda row: _and(first.of(row), second.of(row)))
    return Expression(
        sql, "boolean", lambda row: _not(_and(_not(first.of(row)), _not(second.of(row))))
    )


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _and(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _lifted(name: str, of: Callable[[Any], Any]) -> Callable[[Row], Any]:
    """NULL for NULL."""
    return lambda row: None if row[name] is None else of(row[name])


# Conditions ---------------------------------------------------------------------------------------

_Made: TypeAlias = tuple[str, Callable[[Row], Any]]


def _above(chance: Random) -> _Made:
    limit = chance.randrange(-50, 20)
    return f"n > {limit}", _lifted("n", lambda n: n > limit)


def _remainder(chance: Random) -> _Made:
    by, left = chance.randrange(2, 5), chance.randrange(2)
    return f"pmod(n, {by}) <> {left}", _lifted("n", lambda n: n % by != left)


def _of_seq(chance: Random) -> _Made:
    by = chance.randrange(2, 7)
    return f"seq % {by} <> 1", _lifted("seq", lambda seq: seq % by != 1)


def _like(chance: Random) -> _Made:
    letter = chance.choice("abu")
    return f"user LIKE '{letter}%'", _lifted("user", lambda user: user.startswith(letter))


def _among(chance: Random) -> _Made:
    users = [f"u{chance.randrange(8)}" for _ in range(2)]
    listed = ", ".join(f"'{user}'" for user in users)
    return f"user NOT IN ({listed})", _lifted("user", lambda user: user not in users)


def _is_null(chance: Random) -> _Made:
    return "note IS NOT NULL", lambda row: row["note"] is not None


def _is_long(chance: Random) -> _Made:
    limit = chance.randrange(1, 4)
    return f"length(note) > {limit}", _lifted("note", lambda note: len(note) > limit)


def _flag(chance: Random) -> _Made:
    return "ok", lambda row: row["ok"]


def _cheap(chance: Random) -> _Made:
    limit = chance.randrange(1, 20) / 4
    return f"price < {limit}D", _lifted("price", lambda price: price < limit)


def _tagged(chance: Random) -> _Made:
    return "array_contains(tags, 'x')", _lifted("tags", lambda tags: "x" in tags)


_CONDITIONS: list[tuple[str, Callable[[Random], _Made]]] = [
    ("n", _above),
    ("n", _remainder),
    ("seq", _of_seq),
    ("user", _like),
    ("user", _among),
    ("note", _is_null),
    ("note", _is_long),
    ("ok", _flag),
    ("price", _cheap),
    ("tags", _tagged),
]

# Values -------------------------------------------------------------------------------------------


def _moved(chance: Random) -> _Made:
    by, more = chance.randrange(-3, 4), chance.randrange(10)
    return f"n * {by} + {more}", _lifted("n", lambda n: n * by + more)


def _at_least(chance: Random) -> _Made:
    return "coalesce(n, 0)", lambda row: 0 if row["n"] is None else row["n"]


def _rest(chance: Random) -> _Made:
    by = chance.randrange(2, 6)
    return f"pmod(n, {by})", _lifted("n", lambda n: n % by)


def _length(chance: Random) -> _Made:
    return "length(note)", _lifted("note", len)


def _upper(chance: Random) -> _Made:
    return "upper(note)", _lifted("note", str.upper)


def _some(chance: Random) -> _Made:
    return "coalesce(note, 'none')", lambda row: "none" if row["note"] is None else row["note"]


def _together(chance: Random) -> _Made:
    def of(row: Row) -> str | None:
        parts = row["user"], row["note"]
        return None if None in parts else "-".join(parts)

    return "concat(user, '-', note)", of


def _sized(chance: Random) -> _Made:
    limit = chance.randrange(20)
    # An unknown condition is not true.
    return (
        f"CASE WHEN n > {limit} THEN 'big' ELSE 'small' END",
        lambda row: "big" if row["n"] is not None and row["n"] > limit else "small",
    )


def _begun(chance: Random) -> _Made:
    return "substring(note, 1, 2)", _lifted("note", lambda note: note[:2])


def _dearer(chance: Random) -> _Made:
    return "price * 2", _lifted("price", lambda price: price * 2)


_VALUES: list[tuple[str, set[str], Callable[[Random], _Made]]] = [
    ("n", {"n"}, _moved),
    ("n", {"n"}, _at_least),
    ("rest", {"n"}, _rest),
    ("len", {"note"}, _length),
    ("note", {"note"}, _upper),
    ("note", {"note"}, _some),
    ("pair", {"user", "note"}, _together),
    ("size", {"n"}, _sized),
    ("head", {"note"}, _begun),
    ("price", {"price"}, _dearer),
]
