"""What is malformed and what is not, format by format."""

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.sources.decode import decode
from klamm.pipeline.sources.formats.verdict import CORRUPT_COLUMN
from klamm.pipeline.spec import RecordFormat

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "a tinyint, s smallint, i int, l bigint, fl float, d double, dec decimal(5,2), at timestamp, "
    "n struct<x:int,y:tinyint>, arr array<tinyint>, m map<string,float>, b boolean, dt date, st string"
)
GOOD_JSON = [
    '{"a": -128, "fl": 1.5, "n": {"y": 1}, "arr": [1, null], "m": {"k": 1.5, "z": null}}',
    '{"not in the schema": {"x": []}}',
    '{"st": 5}',
    '{"st": {"kept": "as text"}}',
    '{"d": "Infinity"}',
    '{"i": null}',
    "{}",
    ' {"i": 1}\n',
]
BAD_JSON = [
    *('{"a": 200}', '{"a": -129}', '{"s": 40000}', '{"i": 3000000000}', '{"l": 99999999999999999999}'),
    *('{"fl": 1e300}', '{"d": 1e999}', '{"dec": 123456.7}', '{"i": 1.5}', '{"i": "5"}', '{"i": NaN}'),
    *('{"b": "yes"}', '{"dt": "2026-02-31"}', '{"at": "soon"}', '{"at": "2026-13-45T00:00:00"}'),
    *('{"n": {"x": "no", "y": 1}}', '{"n": {"y": 200}}', '{"n": 5}', '{"arr": [1, 200]}', '{"arr": 5}'),
    *('{"arr": [1, "x"]}', '{"m": {"k": 1e300}}', '{"m": {"k": "v"}}'),
    *("", "  ", "null", "[]", '[{"i": 1}]', "5", '"text"'),
    *('{"i": 1', '{"i": 1} rest', '{"i": 1}{"i": 2}', '{"i": 1}}', '{"i": 1}\x00'),
]  # fmt: skip
NO_UTF8 = b'{"st": "\xff"}'


def values(spark: "SparkSession", *raw: bytes | None) -> "DataFrame":
    rows = [(None if each is None else bytearray(each),) for each in raw]
    return spark.createDataFrame(rows, "value binary")


def verdicts(rows: "DataFrame") -> list[bool]:
    return [row[CORRUPT_COLUMN] is not None for row in rows.collect()]


def test_json_that_is_not_exactly_of_the_schema_is_malformed(spark: "SparkSession") -> None:
    raw = [*(text.encode() for text in (*GOOD_JSON, *BAD_JSON)), NO_UTF8]

    found = verdicts(decode(values(spark, *raw), RecordFormat.JSON, SCHEMA))

    wrong = [
        text
        for text, is_bad in zip(raw, found, strict=True)
        if is_bad != (raw.index(text) >= len(GOOD_JSON))
    ]
    assert wrong == []


def test_what_is_malformed_does_not_depend_on_the_columns_that_are_read(
    spark: "SparkSession",
) -> None:
    rows = decode(values(spark, *(text.encode() for text in BAD_JSON)), RecordFormat.JSON, SCHEMA)

    only_one = rows.where(f"{CORRUPT_COLUMN} IS NOT NULL").select("st")

    assert only_one.count() == len(BAD_JSON)


def test_columns_have_the_types_of_the_schema(spark: "SparkSession") -> None:
    rows = decode(values(spark, GOOD_JSON[0].encode()), RecordFormat.JSON, SCHEMA)

    types = ", ".join(f"{name} {kind}" for name, kind in rows.drop(CORRUPT_COLUMN).dtypes)
    assert types == SCHEMA
    [row] = rows.collect()
    assert (row.a, row.fl, tuple(row.n), row.arr) == (-128, 1.5, (None, 1), [1, None])
    assert row.m == {"k": 1.5, "z": None}


AVRO = {
    "type": "record",
    "name": "click",
    "fields": [{"name": "user", "type": ["null", "string"]}, {"name": "ms", "type": "int"}],
}


@pytest.mark.parametrize(
    ("format", "schema"),
    [
        (RecordFormat.JSON, "user string"),
        (RecordFormat.CSV, "user string"),
        (RecordFormat.AVRO, json.dumps(AVRO)),
        (RecordFormat.TEXT, None),
        (RecordFormat.BYTES, None),
    ],
)
def test_tombstone_is_a_row_of_nulls_and_not_malformed(
    spark: "SparkSession", format: RecordFormat, schema: str | None
) -> None:
    [row] = decode(values(spark, None), format, schema).collect()

    assert set(row) == {None}


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ({}, (1, None, None)),
        # With another word for it, an empty text in quotes is one.
        ({"nullValue": "\\N"}, (1, "", None)),
    ],
)
def test_empty_csv_value_is_null(
    spark: "SparkSession", options: dict[str, str], read: tuple[object, ...]
) -> None:
    line = values(spark, b'1,"",')

    rows = decode(line, RecordFormat.CSV, "a int, b string, c string", options=options)

    assert [tuple(row) for row in rows.collect()] == [(*read, None)]


def test_csv_has_as_many_values_as_columns_and_each_of_its_type(spark: "SparkSession") -> None:
    good = [b'1;"a;b";2026-01-01', b";;"]
    bad = [b"x;a;2026-01-01", b"1;a", b"1;a;2026-01-01;rest", b"", b"3000000000;a;", b"1;\xff;"]

    rows = decode(
        values(spark, *good, *bad),
        RecordFormat.CSV,
        "i int, s string, d date",
        options={"sep": ";"},
    )

    assert verdicts(rows) == [False] * len(good) + [True] * len(bad)
    first = rows.first()
    assert first is not None
    assert (first.i, first.s, str(first.d)) == (1, "a;b", "2026-01-01")
    only_one = rows.where(f"{CORRUPT_COLUMN} IS NOT NULL").select("s")
    assert only_one.count() == len(bad)


def test_avro_that_cannot_be_read_is_no_row_of_nulls(spark: "SparkSession") -> None:
    good = [b"\x02\x06ann\x0a", b"\x00\x0e"]
    bad = [b"", b"\x05", b"\x02\x06an", b"\x02\xfe\xff\xff\xff\x0fan"]

    rows = decode(values(spark, *good, *bad), RecordFormat.AVRO, json.dumps(AVRO))

    assert verdicts(rows) == [False] * len(good) + [True] * len(bad)
    assert [(row.user, row.ms) for row in rows.take(2)] == [("ann", 5), (None, 7)]
    assert rows.columns == ["user", "ms", CORRUPT_COLUMN]


def test_avro_schema_that_is_no_record_gives_one_column(spark: "SparkSession") -> None:
    rows = decode(values(spark, b"\x06ann", b"\x06a"), RecordFormat.AVRO, '{"type": "string"}')

    assert [row.value for row in rows.collect()] == ["ann", None]
    assert verdicts(rows) == [False, True]


def test_text_is_utf8_and_bytes_are_anything(spark: "SparkSession") -> None:
    raw = values(spark, "größe".encode(), b"\xff")

    text, bytes_ = (decode(raw, each, None) for each in (RecordFormat.TEXT, RecordFormat.BYTES))

    assert verdicts(text) == [False, True]
    assert [bytes(row.value) for row in bytes_.collect()] == ["größe".encode(), b"\xff"]
