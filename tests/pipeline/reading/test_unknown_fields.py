"""Fields of JSON that the schema does not name: counted, kept, refused or passed over, and never lost without a word."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.quality.reading import Checked, read_checked
from pipeline.reading.records import a_pipeline, a_place, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINES = [
    '{"user": "ann", "page": "/"}',
    '{"user": "bob", "Page": "/", "ms": {"a": [1, 2.5]}}',
    '{"user": "eve", "pge": "5"}',
    '{"user": 5, "pages": 1} and more',
]


def checked(spark: "SparkSession", folder: Path, **more: object) -> Checked:
    (folder / "in").mkdir()
    (folder / "in" / "a.json").write_text("\n".join(LINES))
    source = {"files": str(folder / "in"), "schema": "user string, page string", **more}
    pipeline = a_pipeline(source, dead_letter="d")
    return read_checked(spark, pipeline, pipeline.sources[0], a_place("b:1", folder))


def test_records_that_have_some_are_counted(spark: "SparkSession", tmp_path: Path) -> None:
    found = stream(checked(spark, tmp_path).good)

    assert [tuple(row) for row in found.rows] == [("ann", "/"), ("bob", None), ("eve", None)]
    assert found.counts == {"read.input": 4, "unknown": 3}
    assert found.names == {"Page", "pge"}


def test_rescued_fields_keep_their_values(spark: "SparkSession", tmp_path: Path) -> None:
    found = stream(checked(spark, tmp_path, unknown_fields="rescue").good)

    assert [row._rescued for row in found.rows] == [
        None,
        '{"Page":"/","ms":{"a":[1,2.5]}}',
        '{"pge":"5"}',
    ]
    assert found.counts["unknown"] == 3


def test_record_that_must_not_have_any_is_malformed(spark: "SparkSession", tmp_path: Path) -> None:
    found = checked(spark, tmp_path, unknown_fields="fail")
    assert found.bad is not None

    assert [row.user for row in stream(found.good).rows] == ["ann"]
    reasons = [
        bytes(header.value).decode().rsplit(": ", 1)[1]
        for row in stream(found.bad).rows
        for header in row.headers
        if header.key == "klamm.reason"
    ]
    assert reasons == [
        "the schema does not name its fields Page, ms",
        "the schema does not name its fields pge",
        "it is no JSON object",
    ]


def test_nobody_looks_for_fields_that_are_ignored(spark: "SparkSession", tmp_path: Path) -> None:
    found = stream(checked(spark, tmp_path, unknown_fields="ignore").good)

    assert found.counts == {"read.input": 4}
    assert "json_object_keys" not in found.plan
