"""Rows as bytes, as a stranger would write them, and as Spark must. A timestamp is a number of milliseconds here."""

import json
import struct
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

from fuzz.pipelines.drawing.expressions import Columns, Row

FORMATS = ("json", "avro", "csv", "text")
# A column of headers, and what Spark calls it.
HEADERS, HEADERS_TYPE = "_headers", "array<struct<key:string,value:binary>>"
# What text has between its parts; no part contains it.
BETWEEN = "|"

_AVRO = {
    "bigint": "long",
    "int": "int",
    "string": "string",
    "double": "double",
    "boolean": "boolean",
    "timestamp": {"type": "long", "logicalType": "timestamp-millis"},
    "array<string>": {"type": "array", "items": "string"},
}


def encode(format: str, columns: Columns, row: Row) -> bytes:
    match format:
        case "json":
            return json.dumps(plain(columns, row), ensure_ascii=False).encode()
        case "csv":
            return ",".join(_cell(columns[name], row[name]) for name in columns).encode()
        case "text":
            return BETWEEN.join(_part(columns[name], row[name]) for name in columns).encode()
        case _:
            return b"".join(_avro(columns[name], row[name]) for name in columns)


def plain(columns: Columns, row: Row) -> dict[str, Any]:
    """As JSON has it: no NULLs, and times as Spark writes them."""
    return {
        name: _plain(kind, row[name]) for name, kind in columns.items() if row[name] is not None
    }


def _plain(kind: str, value: Any) -> Any:
    if kind == HEADERS_TYPE:
        return [{"key": key, "value": b64encode(raw).decode()} for key, raw in value]
    return iso(value) if kind == "timestamp" else value


def iso(ms: int) -> str:
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def avro_schema(columns: Mapping[str, str]) -> str:
    fields = [{"name": name, "type": ["null", _AVRO[kind]]} for name, kind in columns.items()]
    return json.dumps({"type": "record", "name": "event", "fields": fields})


def damaged(chance: Random, format: str, good: bytes, columns: Columns) -> bytes:
    """Bytes that are not what the schema says."""
    if format == "avro":
        return chance.choice((b"", good[:-1], b"\x05", good[:1], good + b"\x00"))
    if format == "text":
        return chance.choice((b"\xff", good + b"\xc3"))
    if format == "csv":
        n = list(columns).index("n")
        cells = ["1"] * len(columns)
        cells[list(columns).index("at")] = iso(0)
        cells[n] = "many"
        return chance.choice((b"", good + b",1,2", b"1,2", ",".join(cells).encode()))
    wrong = b'{"n": "many"}', b'{"at": "soon"}', b'{"n": 3000000000}', b'{"note": "\xff"}'
    return chance.choice((b"", b"no JSON", b"[]", good[:-1], good + b" rest", good * 2, *wrong))


def _cell(kind: str, value: Any) -> str:
    if value is None:
        return ""
    if kind != "string":
        return _word(kind, value)
    if value == "" or any(each in value for each in ',"\n'):
        return '"' + value.replace('"', '\\"') + '"'
    return str(value)


def _part(kind: str, value: Any) -> str:
    return "" if value is None else _word(kind, value)


def _word(kind: str, value: Any) -> str:
    if kind == "timestamp":
        return iso(value)
    return str(value).lower() if kind == "boolean" else str(value)


def _avro(kind: str, value: Any) -> bytes:
    if value is None:
        return _long(0)
    return _long(1) + _avro_value(kind, value)


def _avro_value(kind: str, value: Any) -> bytes:
    match kind:
        case "string":
            raw = value.encode()
            return _long(len(raw)) + bytes(raw)
        case "double":
            return struct.pack("<d", value)
        case "boolean":
            return bytes([value])
        case "array<string>":
            block = _long(len(value)) + b"".join(_avro_value("string", each) for each in value)
            return (block if value else b"") + _long(0)
        case _:
            return _long(value)


def _long(number: int) -> bytes:
    zigzag = (number << 1) ^ (number >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append((zigzag & 0x7F) | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)
