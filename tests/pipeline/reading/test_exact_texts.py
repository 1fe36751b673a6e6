"""Whatever klamm takes for JSON or CSV, Python's own readers take, for the same values; thousands of damaged records of it."""

import csv
import json
import math
from base64 import b64decode
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as f

from klamm.pipeline.sources.decode import decode
from klamm.pipeline.sources.formats.verdict import CORRUPT_COLUMN
from klamm.pipeline.spec import RecordFormat
from pipeline.reading.mutations import mutated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import Column, SparkSession

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_NUMBERS = {"NaN", "Infinity", "-Infinity", "+Infinity", "INF", "-INF", "+INF"}


class Refused(Exception):
    """The other reader does not take it."""


def whole(bits: int) -> "Callable[[Any], int]":
    def read(value: Any) -> int:
        if type(value) is not int or not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise Refused
        return value

    return read


def real(value: Any) -> Any:
    if isinstance(value, str) and value in NO_NUMBERS:
        value = float(value.replace("INF", "Infinity"))
    if type(value) not in (int, float):
        raise Refused
    return "NaN" if math.isnan(value) else float(value)


def decimal(value: Any) -> Decimal:
    found = Decimal(str(value))
    if found != found.quantize(Decimal("0.01")) or abs(found) >= 1000:
        raise Refused
    return found


def time(value: Any) -> int:
    if type(value) is int:
        return value * 1_000_000
    if not isinstance(value, str):
        raise Refused
    if value.isdigit():
        return int(value) * 1_000_000
    found = datetime.fromisoformat(value)
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return (found - EPOCH) // timedelta(microseconds=1)


def day(value: Any) -> int:
    return (date.fromisoformat(value) - EPOCH.date()).days


def truth(value: Any) -> bool:
    if type(value) is not bool:
        raise Refused
    return value


def text(value: Any) -> Any:
    """What is no text is taken as its JSON."""
    return value


def raw(value: Any) -> bytes:
    if type(value) is not str:
        raise Refused
    return b64decode(value, validate=True)


def listed(read: "Callable[[Any], Any]") -> "Callable[[Any], Any]":
    def read_all(value: Any) -> Any:
        if type(value) is not list:
            raise Refused
        return [None if each is None else read(each) for each in value]

    return read_all


def mapped(read: "Callable[[Any], Any]") -> "Callable[[Any], Any]":
    def read_all(value: Any) -> Any:
        if type(value) is not dict:
            raise Refused
        return {name: None if each is None else read(each) for name, each in value.items()}

    return read_all


def read_object(value: Any, reads: "dict[str, Callable[[Any], Any]]") -> dict[str, Any]:
    if type(value) is not dict:
        raise Refused
    return {
        name: None if value.get(name) is None else read(value[name]) for name, read in reads.items()
    }


def within(reads: "dict[str, Callable[[Any], Any]]") -> "Callable[[Any], Any]":
    return lambda value: read_object(value, reads)


# By column: its type, how Python reads it, and how the column is shown to Python, which has no year 10000.
COLUMNS: "dict[str, tuple[str, Callable[[Any], Any], Callable[[Column], Column] | None]]" = {
    "a": ("tinyint", whole(8), None),
    "i": ("int", whole(32), None),
    "l": ("bigint", whole(64), None),
    "d": ("double", real, None),
    "dec": ("decimal(5,2)", decimal, None),
    "at": ("timestamp", time, f.unix_micros),
    "dt": ("date", day, f.unix_date),
    "b": ("boolean", truth, None),
    "st": ("string", text, None),
    "bin": ("binary", raw, None),
    "n": ("struct<x:int,y:string>", within({"x": whole(32), "y": text}), None),
    "arr": ("array<tinyint>", listed(whole(8)), None),
    "m": ("map<string,int>", mapped(whole(32)), None),
}
READS = {name: read for name, (_, read, _) in COLUMNS.items()}

GOOD = [
    '{"a": 7, "i": -20, "l": 9007199254740993, "d": 1.5e3, "dec": 12.5, "at": "2026-11-15T10:20:30.125Z", "dt": "2026-02-28", '
    '"b": true, "st": "gr\\u00f6\\u00dfe \\ud83d\\ude00", "bin": "YWJj", "n": {"x": 1, "y": "z"}, "arr": [1, null], "m": {"k": 5}}',
    '{"at":"2026-01-02 03:04:05+01:00","st":{"kept":[1,2.5]},"d":"NaN","other":[{}],"m":{},"arr":[],"n":{},"b":null,"i":0}',
]
# Ways to close what the value is put into, and to go on.
ESCAPES = [
    '{"i":1},{"i":2}', '{"i":1}],"x":[5', '{"i":1}]}', '{"i":1}]} rest', '{"i":1},"v":{"i":2}', '{"i":1},"x":{"i":2}',
    '{"i":1},"_end":true,"x":1', '{"i":1},', '{"i":1}]', "{'i':1}", '{"i":1}//', '\ufeff{"i":1}',
]  # fmt: skip
# Values that Spark's parsers complete, wrap or round.
INVENTED = [
    '{"st":"\\ud800"}', '{"st":"\\udc00\\ud800"}', '{"dec":1.239}', '{"dec":999.999}', '{"at":1700000000000}', '{"at":9300000000000}',
    '{"at":"10:00"}', '{"at":"T10:00:00"}', '{"at":"2026"}', '{"at":2026}', '{"at":"2026-01"}', '{"at":"2026-1-1"}', '{"dt":"2026"}',
    '{"dt":"2026-01-01Tnever"}', '{"dt":"2026-01-01 never"}', '{"d":1e400,"st":"info"}', '{"m":{"k":1,"k":2}}', '{"at":"2026-01-01T1:00:00"}',
]  # fmt: skip


def of_python(value: bytes) -> dict[str, Any] | None:
    try:
        return read_object(json.loads(value.decode()), READS)
    except (Refused, ValueError, ArithmeticError, TypeError, RecursionError):
        return None


def same(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    for name, value in theirs.items():
        found = ours[name]
        if name == "st":
            found = [found, *([json.loads(found)] if not isinstance(value, str | None) else [])]
            if value not in found:
                return False
        elif name == "n" and found and value and not isinstance(value["y"], str | None):
            if json.loads(found["y"]) != value["y"]:
                return False
        elif found != value:
            return False
    return True


def shown(row: Any) -> dict[str, Any]:
    found = row.asDict(recursive=True)
    if found["d"] is not None and math.isnan(found["d"]):
        found["d"] = "NaN"
    if found.get("bin") is not None:
        found["bin"] = bytes(found["bin"])
    return found


def decoded(
    spark: "SparkSession",
    format: RecordFormat,
    values: list[bytes],
    columns: "Iterable[str]" = tuple(COLUMNS),
    **options: str,
) -> list[Any]:
    rows = spark.createDataFrame([(bytearray(each),) for each in values], "value binary")
    schema = ", ".join(f"{name} {COLUMNS[name][0]}" for name in columns)
    found = decode(rows, format, schema, options=options)
    for name in columns:
        show = COLUMNS[name][2]
        if show is not None:
            found = found.withColumn(name, show(f.col(name)))
    return found.collect()


def test_json_that_is_taken_is_what_python_takes(spark: "SparkSession") -> None:
    valid = [each.encode() for each in GOOD]
    values = [*mutated(valid), *(each.encode() for each in (*ESCAPES, *INVENTED))]

    rows = decoded(spark, RecordFormat.JSON, values)

    invented = []
    for value, row in zip(values, rows, strict=True):
        if row[CORRUPT_COLUMN] is None:
            theirs = of_python(value)
            if theirs is None or not same(shown(row), theirs):
                invented.append((value, theirs, row))
    assert invented == []
    assert [row[CORRUPT_COLUMN] for row in rows[: len(valid)]] == [None] * len(valid)
    assert None not in [row[CORRUPT_COLUMN] for row in rows[-len(ESCAPES) - len(INVENTED) :]]


CSV_COLUMNS = ("i", "l", "d", "dec", "at", "dt", "b", "st")
GOOD_CSV = [
    '5,-9007199254740993,1.5e3,12.50,2026-11-15T10:20:30.125Z,2026-02-28,true,"größe, ""große"""',
    '0,1,.5,-3,"2026-01-02 03:04:05+01:00",2026-01-01,FALSE,a"b',
    ",,,,,,,",
]
INVENTED_CSV = [
    "1,1,1d,1,,,,", "1,1,0x1p3,1,,,,", "1,1,1f,1,,,,", "1,1,1e400,1,,,,Inf", "1,1,1,1.239,,,,", "1,1,1,1,10:00,,,",
    "1,1,1,1,,2026-01-01T,,", '1,1,1,1,,,,"a"b', '1,1,1,1,,,,"a" ', '1,1,1,1,,,,"a""', "1,1,1,1,,,,a\nb", "1,1,1,1,,,", "1,1,1,1,,,,,",
]  # fmt: skip


def of_csv(value: bytes) -> dict[str, Any] | None:
    try:
        [fields] = csv.reader([value.decode().rstrip("\r\n")], strict=True)
        if len(fields) != len(CSV_COLUMNS):
            return None
        reads = [CSV_READS[name] for name in CSV_COLUMNS]
        return {
            name: read(field) if field else None
            for name, field, read in zip(CSV_COLUMNS, fields, reads, strict=True)
        }
    except (Refused, ValueError, ArithmeticError, csv.Error):
        return None


def truth_text(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise Refused
    return value.lower() == "true"


CSV_READS: "dict[str, Callable[[str], Any]]" = {
    "i": lambda value: whole(32)(int(value)),
    "l": lambda value: whole(64)(int(value)),
    "d": lambda value: real(float(value)),
    "dec": decimal,
    "at": time,
    "dt": day,
    "b": truth_text,
    "st": str,
}


def test_csv_that_is_taken_is_what_python_takes(spark: "SparkSession") -> None:
    valid = [each.encode() for each in GOOD_CSV]
    values = [*mutated(valid), *(each.encode() for each in INVENTED_CSV)]

    rows = decoded(spark, RecordFormat.CSV, values, CSV_COLUMNS, escape='"')

    invented = []
    for value, row in zip(values, rows, strict=True):
        if row[CORRUPT_COLUMN] is None:
            theirs = of_csv(value)
            ours = shown(row)
            if theirs is None or any(ours[name] != each for name, each in theirs.items()):
                invented.append((value, theirs, row))
    assert invented == []
    assert [row[CORRUPT_COLUMN] for row in rows[: len(valid)]] == [None] * len(valid)
    assert None not in [row[CORRUPT_COLUMN] for row in rows[-len(INVENTED_CSV) :]]


def test_long_texts_with_many_quotes_do_not_take_all_of_the_stack(spark: "SparkSession") -> None:
    inside = ["a" * 200_000, '\\"' * 100_000, "," * 200_000]
    values = [f'1,"{each}"'.encode() for each in inside]

    rows = decode(
        spark.createDataFrame([(bytearray(each),) for each in values], "value binary"),
        RecordFormat.CSV,
        "i int, st string",
        options={"maxCharsPerColumn": "-1"},
    ).collect()

    assert [row[CORRUPT_COLUMN] for row in rows] == [None] * len(inside)
    assert [row.st for row in rows] == [each.replace('\\"', '"') for each in inside]
