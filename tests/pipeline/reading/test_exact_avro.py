"""Whatever klamm takes for Avro, another reader of Avro takes, for the same values; thousands of damaged records of it."""

import json
import math
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import fastavro
from pyspark.sql import functions as f

from klamm.pipeline.sources.decode import decode
from klamm.pipeline.sources.formats.avro import LEFT_OVER
from klamm.pipeline.sources.formats.verdict import CORRUPT_COLUMN, NO_FIT
from klamm.pipeline.spec import RecordFormat
from pipeline.reading.mutations import REGISTRY_HEADER, mutated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SCALE = 2
INNER = {
    "type": "record",
    "name": "inner",
    "fields": [
        {"name": "flag", "type": "boolean"},
        {"name": "flags", "type": {"type": "array", "items": "boolean"}},
        {"name": "size", "type": ["null", "int"]},
    ],
}
FIELDS = {
    "i": "int",
    "l": "long",
    "ok": "boolean",
    "s": "string",
    "maybe": ["null", "string"],
    "by": "bytes",
    "fx": {"type": "fixed", "name": "four", "size": 4},
    "fl": "float",
    "d": "double",
    "small": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": SCALE},
    "large": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": SCALE},
    "fixed": {"type": "fixed", "name": "sum", "size": 12, "logicalType": "decimal", "precision": 9, "scale": SCALE},
    "day": {"type": "int", "logicalType": "date"},
    "at": {"type": "long", "logicalType": "timestamp-millis"},
    "color": {"type": "enum", "name": "color", "symbols": ["red", "green", "blue"]},
    "ints": {"type": "array", "items": "int"},
    "flags": {"type": "map", "values": "boolean"},
    "inner": INNER,
    "inners": {"type": "array", "items": "inner"},
    "any": ["int", "string", "boolean"],
    "number": ["int", "long"],
}  # fmt: skip
DECIMALS = {"small", "large", "fixed"}


def a_schema(fields: dict[str, Any], *, with_logical_types: bool = True) -> dict[str, Any]:
    listed = [{"name": name, "type": kind} for name, kind in fields.items()]
    if not with_logical_types:
        listed = [{**each, "type": _physical(each["type"])} for each in listed]
    return {"type": "record", "name": "everything", "namespace": "some.where", "fields": listed}


def _physical(kind: Any) -> Any:
    if not isinstance(kind, dict) or "logicalType" not in kind:
        return kind
    return {k: v for k, v in kind.items() if k not in ("logicalType", "precision", "scale")}


SCHEMA = a_schema(FIELDS)
# Spark gives a decimal for the bytes of one; here they are compared as whole numbers.
PARSED = fastavro.parse_schema(a_schema(FIELDS, with_logical_types=False))

VALUES: list[dict[str, Any]] = [
    {
        "i": 5, "l": 2**40, "ok": True, "s": "ann", "maybe": None, "by": b"\x00\xff", "fx": b"abcd",
        "fl": 1.5, "d": -2.25, "small": 12345, "large": 10**25, "fixed": -7, "day": 20_000,
        "at": 1_700_000_000_123, "color": "green", "ints": [1, -2, 300], "flags": {"a": True, "ß": False},
        "inner": {"flag": False, "flags": [True, False], "size": 7},
        "inners": [{"flag": True, "flags": [], "size": None}],
        "any": "text", "number": 2**35,
    },
    {
        "i": -(2**31), "l": -(2**63), "ok": False, "s": "", "maybe": "größe", "by": b"", "fx": b"\x00" * 4,
        "fl": math.inf, "d": 0.0, "small": -99999, "large": 0, "fixed": 0, "day": -800_000,
        "at": -1, "color": "red", "ints": [], "flags": {},
        "inner": {"flag": True, "flags": [], "size": -(2**31)},
        "inners": [],
        "any": True, "number": 3,
    },
]  # fmt: skip
# Ints of five bytes with bits that an int has no room for.
OVERLONG = [b"\xff\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x10"]


def encoded(value: dict[str, Any]) -> bytes:
    raw = dict(value)
    for name in DECIMALS:
        size = 12 if name == "fixed" else (raw[name].bit_length() // 8) + 1
        raw[name] = raw[name].to_bytes(size, "big", signed=True)
    out = BytesIO()
    fastavro.schemaless_writer(out, PARSED, raw)
    return out.getvalue()


def with_overlong(value: dict[str, Any]) -> list[bytes]:
    """Of a value that begins with an int, has a day and a list of three ints."""
    whole = encoded(value)
    first, day, ints = _zigzag(value["i"]), _zigzag(value["day"]), b"\x06\x02\x03\xd8\x04"
    assert whole.startswith(first)
    assert whole.count(day) == whole.count(ints) == 1
    places = [(first, b"", b""), (day, b"", b""), (ints, b"\x06\x02\x03", b"")]
    return [
        whole.replace(old, before + each + after, 1)
        for old, before, after in places
        for each in OVERLONG
    ]


def _zigzag(number: int) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, {"type": "int"}, number)
    return out.getvalue()


def independent(value: bytes) -> dict[str, Any] | None:
    """None: it refuses them, or does not take all of them."""
    stream = BytesIO(value)
    try:
        found = fastavro.schemaless_reader(stream, PARSED, None)
    except Exception:  # noqa: BLE001 - whatever it does not like
        return None
    assert isinstance(found, dict)
    if stream.tell() != len(value):
        return None
    return found | {n: int.from_bytes(found[n], "big", signed=True) for n in DECIMALS}


def values(spark: "SparkSession", *raw: bytes) -> "DataFrame":
    return spark.createDataFrame([(bytearray(each),) for each in raw], "value binary")


def decoded(spark: "SparkSession", raw: list[bytes]) -> "list[Row]":
    rows = decode(values(spark, *raw), RecordFormat.AVRO, json.dumps(SCHEMA))
    # Python has no year 10000.
    rows = rows.withColumn("day", f.unix_date("day")).withColumn("at", f.unix_millis("at"))
    return rows.collect()


def compared(row: "Row") -> dict[str, Any]:
    found = row.asDict(recursive=True)
    del found[CORRUPT_COLUMN]
    for name in DECIMALS:
        found[name] = int(found[name] * 10**SCALE)
    members = [each for each in found["any"].values() if each is not None]
    assert len(members) == 1
    found["any"] = members[0]
    found["by"], found["fx"] = bytes(found["by"]), bytes(found["fx"])
    return {name: _plain(each) for name, each in found.items()}


def _plain(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def fits(value: dict[str, Any]) -> bool:
    """Whether there is room for all of its numbers: the other reader does not ask."""
    inners = [value["inner"], *value["inners"]]
    ints = [value["i"], value["day"], *value["ints"], *(each["size"] or 0 for each in inners)]
    if isinstance(value["any"], int):
        ints.append(value["any"])
    return (
        all(-(2**31) <= each < 2**31 for each in ints)
        and abs(value["at"]) < 2**63 // 1000
        and abs(value["small"]) < 10**5
        and abs(value["large"]) < 10**30
        and abs(value["fixed"]) < 10**9
    )


def test_what_is_taken_is_what_another_reader_takes(spark: "SparkSession") -> None:
    valid = [encoded(each) for each in VALUES]
    raw = [*mutated(valid), *with_overlong(VALUES[0])]

    rows = decoded(spark, raw)

    invented, refused = [], []
    for value, row in zip(raw, rows, strict=True):
        other = independent(value)
        if row[CORRUPT_COLUMN] is None:
            if other is None or compared(row) != {n: _plain(e) for n, e in other.items()}:
                invented.append((value, other, row))
        elif other is not None and fits(other) and encoded(other) == value:
            refused.append((value, row[CORRUPT_COLUMN]))
    assert invented == []
    assert refused == []
    reasons = {row[CORRUPT_COLUMN] for row in rows}
    assert {None, NO_FIT, LEFT_OVER} <= reasons


def test_header_of_a_schema_registry_is_named(spark: "SparkSession") -> None:
    value = encoded(VALUES[0])

    [row] = decoded(spark, [REGISTRY_HEADER + value])

    assert row[CORRUPT_COLUMN].startswith(
        "it begins like a value of a schema registry (magic byte 0, schema id 42)"
    )


def test_few_bytes_that_claim_to_be_many_are_malformed(spark: "SparkSession") -> None:
    """Avro makes room before it reads: without a limit this ends Spark itself."""
    lengths = [b"\x80\x80\x80\x80\x0a", b"\x80\x80\x80\x80\x06", b"\xfe\xff\xff\xff\x0f"]
    schemas = [{"type": "string"}, {"type": "bytes"}, {"type": "array", "items": "null"}]

    found = [
        row[CORRUPT_COLUMN] is None
        for schema in schemas
        for row in decode(values(spark, *lengths), RecordFormat.AVRO, json.dumps(schema)).collect()
    ]

    assert not any(found)


def test_any_avro_type_can_be_a_value(spark: "SparkSession") -> None:
    for schema, good, bad in (
        ({"type": "boolean"}, {b"\x00": False, b"\x01": True}, [b"\x02", b"", b"\x01\x00"]),
        ({"type": "null"}, {b"": None}, [b"\x00"]),
        (
            {"type": "array", "items": "boolean"},
            {b"\x02\x01\x00": [True], b"\x00": []},
            [b"\x02\x03\x00"],
        ),
    ):
        rows = decode(values(spark, *good, *bad), RecordFormat.AVRO, json.dumps(schema)).collect()

        assert [row.value for row in rows[: len(good)]] == list(good.values())
        assert [row[CORRUPT_COLUMN] is None for row in rows] == [True] * len(good) + [False] * len(
            bad
        )


def test_older_records_are_read_with_a_reader_schema(spark: "SparkSession") -> None:
    old = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}
    new = {**old, "fields": [*old["fields"], {"name": "b", "type": "string", "default": "none"}]}  # type: ignore[misc]

    rows = decode(
        values(spark, b"\x02", b"\x02\x02"),
        RecordFormat.AVRO,
        json.dumps(old),
        options={"avroSchema": json.dumps(new)},
    ).collect()

    assert tuple(rows[0]) == (1, "none", None)
    assert rows[1][CORRUPT_COLUMN] == LEFT_OVER
