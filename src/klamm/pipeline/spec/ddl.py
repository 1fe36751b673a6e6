"""The columns of a schema text such as `user string, at timestamp`, as far as they can be known without Spark."""

import re
from dataclasses import dataclass

from klamm.pipeline.spec.problems import nearest

TYPES = frozenset(
    {
        *("boolean", "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"),
        *("float", "real", "double", "decimal", "dec", "numeric", "string", "char", "character"),
        *("varchar", "binary", "date", "time", "timestamp", "timestamp_ntz", "timestamp_ltz"),
        *("interval", "void", "variant", "array", "map", "struct"),
    }
)
TIME_TYPES = frozenset({"timestamp", "timestamp_ntz", "timestamp_ltz"})

_COLUMN = re.compile(
    r"\s*(?:`((?:[^`]|``)+)`|([^\s:`,<>()]+))\s*(?::\s*|\s+|(?<=`))([A-Za-z_]+)(.*)", re.DOTALL
)
_CLOSES = {"<": ">", "(": ")"}


class BadSchema(Exception):
    """The text names no columns; says why."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name and the first word of its type, in lower case."""

    name: str
    type: str


def columns_of(text: str) -> tuple[Column, ...]:
    """The columns in their order. Raises BadSchema."""
    columns: dict[str, Column] = {}
    for part in _split(text):
        column = _column(part)
        if column.name.lower() in columns:
            raise BadSchema(f"{column.name} stands there twice")
        columns[column.name.lower()] = column
    return tuple(columns.values())


def _column(part: str) -> Column:
    match = _COLUMN.fullmatch(part)
    if match is None:
        shown = part.strip()
        raise BadSchema(f"{shown[:40]} has no type" if shown else "a column is empty")
    name = match[1].replace("``", "`") if match[1] else match[2]
    kind = match[3].lower()
    if kind not in TYPES:
        near = nearest(kind, TYPES)
        hint = f"; did you mean {near}?" if near else ""
        raise BadSchema(f"{match[3]} is no type of Spark SQL{hint}")
    return Column(name, kind)


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no bracket and in no quotes."""
    parts = [""]
    open_brackets: list[str] = []
    quote = ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "`'\"":
            quote = char
        elif char in _CLOSES:
            open_brackets.append(_CLOSES[char])
        elif char in ">)":
            if not open_brackets or open_brackets.pop() != char:
                raise BadSchema(f"a {char} closes nothing")
        elif char == "," and not open_brackets:
            parts.append("")
            continue
        parts[-1] += char
    if quote or open_brackets:
        raise BadSchema(f"a {quote or open_brackets[-1]} is missing at the end")
    return parts
