"""A schema from examples: the columns of JSON values, as a text such as `user string, ms bigint`. Knows no Spark.

Spark's own inference would do, but for times, which it takes for text, and for the seconds that a job costs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from klamm.pipeline.spec import RESERVED_COLUMNS


@dataclass(frozen=True, slots=True)
class Plain:
    """A type that has no parts, by its name in SQL."""

    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    item: JsonType


@dataclass(frozen=True, slots=True)
class Object:
    fields: Mapping[str, JsonType]


# None: only null was seen.
JsonType: TypeAlias = Plain | ListOf | Object | None

BOOLEAN, BIGINT, DOUBLE = Plain("boolean"), Plain("bigint"), Plain("double")
STRING, TIMESTAMP, LARGE = Plain("string"), Plain("timestamp"), Plain("decimal(38,0)")
_NUMBERS = (BIGINT, LARGE, DOUBLE)  # each holds what is before it, if not always to the last digit
_LARGEST_BIGINT = 2**63
_LARGEST_DECIMAL = 10**38
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_SIMPLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Guess:
    """What a sample of values looks like."""

    # None: the values are no JSON objects, or there are none.
    schema: str | None
    values: int
    objects: int


def guess(values: Iterable[bytes | None]) -> Guess:
    """JSON if most values are JSON objects. Records without a value say nothing."""
    count = 0
    objects = []
    for value in values:
        if value is None:
            continue
        count += 1
        parsed = _parsed(value)
        if isinstance(parsed, dict):
            objects.append(parsed)
    is_json = bool(objects) and 2 * len(objects) >= count
    schema = schema_of(objects) if is_json else None
    return Guess(schema, values=count, objects=len(objects))


def schema_of(objects: Iterable[Mapping[str, Any]]) -> str | None:
    """The columns of all of them; None if there is no column that could be named."""
    merged: JsonType = None
    for each in objects:
        merged = merge(merged, type_of(each))
    if not isinstance(merged, Object):
        return None
    columns = {name: kind for name, kind in merged.fields.items() if _is_usable(name)}
    return _columns(columns, " ") or None


def _parsed(value: bytes) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def type_of(value: Any) -> JsonType:
    match value:
        case None:
            return None
        case bool():
            return BOOLEAN
        case int():
            if -_LARGEST_BIGINT <= value < _LARGEST_BIGINT:
                return BIGINT
            return LARGE if abs(value) < _LARGEST_DECIMAL else DOUBLE
        case float():
            return DOUBLE
        case str():
            return TIMESTAMP if _is_time(value) else STRING
        case list():
            item: JsonType = None
            for each in value:
                item = merge(item, type_of(each))
            return ListOf(item)
        case dict():
            return Object({name: type_of(each) for name, each in value.items()})
    raise TypeError(f"JSON has no {type(value).__name__}")


def merge(one: JsonType, other: JsonType) -> JsonType:
    """A type that holds both. Whatever has no better one is text: Spark then gives the JSON as it was written."""
    if one is None or one == other:
        return other
    if other is None:
        return one
    if isinstance(one, Object) and isinstance(other, Object):
        fields = dict(one.fields)
        for name, kind in other.fields.items():
            fields[name] = merge(fields.get(name), kind)
        return Object(fields)
    if isinstance(one, ListOf) and isinstance(other, ListOf):
        return ListOf(merge(one.item, other.item))
    if one in _NUMBERS and other in _NUMBERS:
        return max(one, other, key=_NUMBERS.index)
    return STRING


def _is_time(text: str) -> bool:
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text[:19])
    except ValueError:
        return False
    return True


def _is_usable(name: str) -> bool:
    return bool(name.strip()) and name.lower() not in RESERVED_COLUMNS


def _columns(fields: Mapping[str, JsonType], between: str) -> str:
    written: dict[str, str] = {}
    for name, kind in fields.items():
        # Spark does not tell `User` from `user`: the first is taken.
        written.setdefault(name.lower(), f"{_quoted(name)}{between}{_sql(kind)}")
    return ", ".join(written.values())


def _sql(kind: JsonType) -> str:
    match kind:
        case Plain(name):
            return name
        case ListOf(item):
            return f"array<{_sql(item)}>"
        case Object(fields) if fields:
            return f"struct<{_columns(fields, ': ')}>"
    return STRING.name


def _quoted(name: str) -> str:
    return name if _SIMPLE_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"
