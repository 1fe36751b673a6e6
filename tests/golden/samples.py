"""Deterministic sample values for Kafka's messages, in the JSON form of its `*JsonConverter`s.

minimal   the default of every field, no tagged field
filled    every field set; of the two structs in an array the second has nulls and extremes
extremes  null wherever null is allowed, the smallest and largest numbers, long and foreign strings
"""

from __future__ import annotations

import base64
import itertools
from typing import TypeAlias

from golden.schemas import Field, Schema

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Struct: TypeAlias = dict[str, Json]

WIDTHS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32}
ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
# Two, three and four bytes in UTF-8; the last is a surrogate pair inside the JVM.
FOREIGN = "ä€😀"
# One more than fits the one-byte form of a compact length.
LONG = 128


def samples(schema: Schema, version: int) -> dict[str, Struct]:
    """The sample values of one message and version, by the sample's name."""
    is_latest = version == schema.versions[-1]
    values = {
        "minimal": _minimal_struct(schema.fields, version),
        "filled": _Filled(version).struct(schema.fields),
        "extremes": _Extremes(version, wide=is_latest).struct(schema.fields),
    }
    if is_latest and version in schema.flexible:
        values["unknown-tags"] = values["filled"]
    return values


def _minimal_struct(fields: tuple[Field, ...], version: int) -> Struct:
    return {
        field.name: _default(field, version)
        for field in fields
        if version in field.versions and version not in field.tagged
    }


def _default(field: Field, version: int) -> Json:
    if field.default == "null":
        return None
    if field.is_array:
        return []
    match field.type:
        case "string" | "bytes":
            return field.default or ""
        case "records":
            return None if version in field.nullable else ""
        case "uuid":
            return ZERO_UUID
        case "bool":
            return field.default == "true"
        case "float64":
            return float(field.default or 0)
        case name if name in WIDTHS:
            return int(field.default or "0", 0)
        case _:
            return _minimal_struct(field.fields, version)


class _Filled:
    """Sets every field, each to a value of its own, so that swapped fields show."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.numbers = itertools.count(1)

    def struct(self, fields: tuple[Field, ...]) -> Struct:
        return {f.name: self.field(f) for f in fields if self.version in f.versions}

    def field(self, field: Field) -> Json:
        if not field.is_array:
            return self.element(field)
        if field.fields:
            return [self.struct(field.fields), _Extremes(self.version).inner_struct(field.fields)]
        return [self.element(field), self.element(field)]

    def element(self, field: Field) -> Json:
        number = next(self.numbers)
        match field.type:
            case "string":
                return f"s{number}"
            case "bytes" | "records":
                return base64.b64encode(b"\x00\xff" + str(number).encode()).decode()
            case "uuid":
                return _uuid(bytes([number % 256]) * 16)
            case "bool":
                return field.default != "true"
            case "float64":
                return number + 0.5
            case name if name in WIDTHS:
                return (1 << (WIDTHS[name] - 8)) + number % 100
            case _:
                return self.struct(field.fields)


class _Extremes:
    """Null where null is allowed, else what lies at the border of the type."""

    def __init__(self, version: int, *, wide: bool = False) -> None:
        self.version = version
        self.lows = itertools.cycle([True, False])
        # Spent on the first string and the first array of small numbers.
        self.long_string = "x" * LONG + FOREIGN if wide else None
        self.wide_array = LONG if wide else 0

    def struct(self, fields: tuple[Field, ...]) -> Struct:
        return {f.name: self.field(f) for f in fields if self.version in f.versions}

    def inner_struct(self, fields: tuple[Field, ...]) -> Struct:
        """A struct next to a filled one: without its tagged fields."""
        return self.struct(tuple(f for f in fields if self.version not in f.tagged))

    def field(self, field: Field) -> Json:
        if self.version in field.nullable:
            return None
        if not field.is_array:
            return self.element(field)
        if field.fields:
            return [self.struct(field.fields)]
        if field.type in ("int8", "int16", "int32"):
            count, self.wide_array = self.wide_array, 0
            return [self.element(field) for _ in range(count)]
        return []

    def element(self, field: Field) -> Json:
        is_low = next(self.lows)
        match field.type:
            case "string":
                text, self.long_string = self.long_string or FOREIGN, None
                return text
            case "bytes" | "records":
                return ""
            case "uuid":
                return _uuid(b"\x80" + bytes(14) + b"\xff")
            case "bool":
                return is_low
            case "float64":
                return -5e-324 if is_low else 1.7976931348623157e308
            case name if name in WIDTHS:
                return _smallest(name) if is_low else _largest(name)
            case _:
                return self.struct(field.fields)


def _smallest(name: str) -> int:
    return 0 if name.startswith("u") else -(1 << (WIDTHS[name] - 1))


def _largest(name: str) -> int:
    return (1 << (WIDTHS[name] - (not name.startswith("u")))) - 1


def _uuid(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
