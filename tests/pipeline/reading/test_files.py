"""Files as a source: lines and rows, good and bad, each file once."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException

from klamm.pipeline.quality.reading import Checked, read_checked
from klamm.pipeline.sources.trouble import SourceFailed
from pipeline.reading.records import a_pipeline, a_place, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SANE = {"name": "sane", "check": "ms >= 0", "otherwise": "dead_letter"}


def checked(
    spark: "SparkSession", folder: Path, more: dict[str, object], **pipeline: object
) -> Checked:
    whole = a_pipeline({"files": str(folder / "in"), **more}, **pipeline)
    return read_checked(spark, whole, whole.sources[0], a_place("b:1", folder))


def write(folder: Path, name: str, *lines: str | bytes) -> None:
    (folder / "in").mkdir(exist_ok=True)
    raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
    (folder / "in" / name).write_bytes(b"\n".join(raw) + b"\n")


def letters(found: Checked) -> dict[bytes, dict[str, str]]:
    assert found.bad is not None
    return {
        bytes(row.value): {each.key: bytes(each.value).decode() for each in row.headers}
        for row in stream(found.bad).rows
    }


JSON_LINES = [
    '{"user": "ann", "ms": 1}',
    "",
    '{"user": "joe", "ms": -1}',
    "{no json",
    '{"ms": "x"}',
]
CSV_LINES = ["user,ms", "ann,1", "joe,-1", "eve,x", "sue"]


def test_bad_line_of_json_is_kept_as_it_is_with_its_file(
    spark: "SparkSession", tmp_path: Path
) -> None:
    write(tmp_path, "a.json", *JSON_LINES)
    more: dict[str, object] = {"format": "json", "schema": "user string, ms int"}

    found = checked(spark, tmp_path, more, dead_letter="d", expect=[SANE])

    streamed = stream(found.good)
    assert [tuple(row) for row in streamed.rows] == [("ann", 1)]
    assert streamed.counts == {"read.input": 4}
    bad = letters(found)
    assert {line.decode(): facts["klamm.check"] for line, facts in bad.items()} == {
        '{"user": "joe", "ms": -1}': "sane",
        "{no json": "malformed",
        '{"ms": "x"}': "malformed",
    }
    assert all(facts["klamm.file"].endswith("/in/a.json") for facts in bad.values())


def test_csv_with_a_header_and_bad_rows(spark: "SparkSession", tmp_path: Path) -> None:
    write(tmp_path, "a.csv", *CSV_LINES)
    options = {"header": "true"}
    more: dict[str, object] = {"format": "csv", "schema": "user string, ms int", "options": options}

    found = checked(spark, tmp_path, more, dead_letter="d", expect=[SANE])

    # Only one column is asked for, and the others are still held against the schema.
    assert [row.user for row in stream(found.good.select("user")).rows] == ["ann"]
    assert {line.decode(): facts["klamm.check"] for line, facts in letters(found).items()} == {
        "joe,-1": "sane",
        "eve,x": "malformed",
        "sue": "malformed",
    }


def test_header_with_other_names_than_the_schema_ends_the_run(
    spark: "SparkSession", tmp_path: Path
) -> None:
    write(tmp_path, "a.csv", "ms,user", "1,2")
    more: dict[str, object] = {
        "format": "csv",
        "schema": "user string, ms int",
        "options": {"header": "true"},
    }

    found = checked(spark, tmp_path, more)

    with pytest.raises(StreamingQueryException, match="header"):
        stream(found.good)


def test_numbers_in_csv_that_do_not_fit_are_malformed(
    spark: "SparkSession", tmp_path: Path
) -> None:
    write(tmp_path, "a.csv", "1,1.5", "200,1.5", "1,1e300", "1,Inf")
    more: dict[str, object] = {"format": "csv", "schema": "a tinyint, f float", "malformed": "drop"}

    found = checked(spark, tmp_path, more)

    assert [tuple(row) for row in stream(found.good).rows] == [(1, 1.5), (1, float("inf"))]
    assert found.good.dtypes == [("a", "tinyint"), ("f", "float")]


def test_text_is_one_column_of_lines_in_utf8(spark: "SparkSession", tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "one", "", b"\xff")

    found = checked(spark, tmp_path, {"format": "text", "malformed": "drop"})

    streamed = stream(found.good)
    assert sorted(row.value for row in streamed.rows) == ["", "one"]
    assert streamed.counts == {"dropped.malformed": 1}


def test_json_over_several_lines_is_read_by_its_option(
    spark: "SparkSession", tmp_path: Path
) -> None:
    rows = [{"user": "ann", "ms": 1}, {"user": "eve", "ms": "x"}, {"user": "joe", "ms": -1}]
    for number, row in enumerate(rows):
        write(tmp_path, f"{number}.json", json.dumps(row, indent=2))
    options = {"multiLine": "true"}
    more: dict[str, object] = {"schema": "user string, ms int", "options": options}

    found = checked(spark, tmp_path, more, dead_letter="d", expect=[SANE])

    assert [row.user for row in stream(found.good.select("user")).rows] == ["ann"]
    assert sorted(facts["klamm.check"] for facts in letters(found).values()) == [
        "malformed",
        "sane",
    ]


def test_parquet_is_read_with_its_own_schema(spark: "SparkSession", tmp_path: Path) -> None:
    rows = spark.createDataFrame([("ann", 1), ("joe", -1)], "user string, ms int")
    rows.coalesce(1).write.parquet(str(tmp_path / "in"))

    found = checked(spark, tmp_path, {"format": "parquet"}, dead_letter="d", expect=[SANE])

    assert [tuple(row) for row in stream(found.good).rows] == [("ann", 1)]
    [(value, facts)] = letters(found).items()
    assert json.loads(value) == {"user": "joe", "ms": -1}
    assert facts["klamm.file"].endswith(".parquet")


def test_schema_that_is_not_given_is_what_the_files_show(
    spark: "SparkSession", tmp_path: Path
) -> None:
    write(tmp_path, "a.json", '{"user": "ann", "ms": 1}', "{no json")

    found = checked(spark, tmp_path, {"malformed": "drop"})

    assert found.good.dtypes == [("ms", "bigint"), ("user", "string")]
    assert [tuple(row) for row in stream(found.good).rows] == [(1, "ann")]


def test_each_file_is_read_once_and_no_more_than_allowed_in_a_batch(
    spark: "SparkSession", tmp_path: Path
) -> None:
    for number in range(3):
        write(tmp_path, f"{number}.json", f'{{"ms": {number}}}')
    found = checked(spark, tmp_path, {"schema": "ms int", "max_per_batch": 2})

    first = stream(found.good, tmp_path / "query")
    write(tmp_path, "3.json", '{"ms": 3}')
    second = stream(found.good, tmp_path / "query")

    assert (first.batches, sorted(row.ms for row in first.rows)) == (2, [0, 1, 2])
    assert [row.ms for row in second.rows] == [3]


def test_line_that_ends_the_run_is_told_with_its_file(
    spark: "SparkSession", tmp_path: Path
) -> None:
    write(tmp_path, "a.json", "{no json")
    found = checked(spark, tmp_path, {"schema": "ms int"})

    with pytest.raises(StreamingQueryException, match=r"a line of \S+/in/a.json cannot be decoded"):
        stream(found.good)


def test_folder_that_is_not_there_is_told(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(SourceFailed, match=r"there is no folder .*/in"):
        checked(spark, tmp_path, {"schema": "ms int"})
    (tmp_path / "in").mkdir()
    with pytest.raises(SourceFailed, match="show no columns: give a schema"):
        checked(spark, tmp_path, {})
