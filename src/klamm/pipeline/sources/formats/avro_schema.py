"""An Avro schema that reads the same bytes, and shows what Avro's own reader would pass over. Knows no Spark.

Avro's reader takes any byte for a boolean, drops the upper bits of an int of five bytes, and Spark those of a decimal.
So they are read into types that hold every bit. Behind the value comes a mark of known bytes: it is found where the
value ends only if the value ends where its bytes do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import count
from typing import Any, TypeAlias

# As JSON has it: a name, a list of members, or an object.
Schema: TypeAlias = Any

VALUE = "value"
END = "end"
END_BYTES = 16

# Names that no schema will have: of the types that are added.
_OURS = "klamm__"
_LARGEST_PRECISION = 38


def with_end(schema: Schema) -> Schema:
    """A record of the value and the mark behind it."""
    end = {"type": "fixed", "name": f"{_OURS}end", "size": END_BYTES}
    fields = [{"name": VALUE, "type": schema}, {"name": END, "type": end}]
    return {"type": "record", "name": f"{_OURS}record", "fields": fields}


def exact(schema: Schema) -> Schema:
    """Booleans as a byte, ints as long, decimals with all digits that there is room for."""
    return _Rewriter().rewritten(schema)


class _Rewriter:
    def __init__(self) -> None:
        # A named type is defined once; each byte is a type of its own, and nobody refers to it.
        self._numbers = count(1)

    def rewritten(self, schema: Any) -> Any:
        match schema:
            case "int":
                return "long"
            case "boolean":
                name = f"{_OURS}boolean_{next(self._numbers)}"
                return {"type": "fixed", "name": name, "size": 1}
            case list():
                return self._union(schema)
            case {"logicalType": "decimal"}:
                return _with_all_digits(schema)
            case {"type": "int", "logicalType": kind} if kind != "date":
                return schema
            case {"type": "int" | "boolean" as kind}:
                return self.rewritten(kind)
            case {"type": "record" | "error", "fields": fields}:
                return {**schema, "fields": [self._field(each) for each in fields]}
            case {"type": "array", "items": items}:
                return {**schema, "items": self.rewritten(items)}
            case {"type": "map", "values": values}:
                return {**schema, "values": self.rewritten(values)}
            case {"type": dict() | list() as inner}:
                return self.rewritten(inner)
        return schema

    def _union(self, members: list[Any]) -> list[Any]:
        # A union has each type once, and Spark makes one column of int and long.
        has_long = any(_kind(each) == "long" for each in members)
        return [
            each if has_long and _kind(each) == "int" else self.rewritten(each) for each in members
        ]

    def _field(self, field: Mapping[str, Any]) -> dict[str, Any]:
        # A default is for readers of older records; of the wrong type it would be a mistake in the schema.
        kept = {name: value for name, value in field.items() if name != "default"}
        return {**kept, "type": self.rewritten(field["type"])}


def _kind(schema: Any) -> str:
    named = schema.get("type") if isinstance(schema, dict) else schema
    return named if isinstance(named, str) else ""


def _with_all_digits(schema: dict[str, Any]) -> dict[str, Any]:
    room = _LARGEST_PRECISION
    if schema["type"] == "fixed":
        bits = 8 * int(schema["size"]) - 1
        room = min(room, math.floor(bits * math.log10(2)))
    precision = schema.get("precision", 0)
    # Of what is no decimal by Avro's rules, its reader gives the bytes.
    is_decimal = schema.get("scale", 0) <= precision <= room and precision > 0
    return {**schema, "precision": room} if is_decimal else schema
