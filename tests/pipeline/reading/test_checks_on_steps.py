"""What is expected of a step's rows, and the watermark that a source's rows carry."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException

from klamm.pipeline.quality.reading import check_step, read_checked
from klamm.pipeline.spec import Expectation, Otherwise
from pipeline.reading.records import a_pipeline, a_place, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINES = ('{"page": "/", "ms": 1}', '{"page": "/b", "ms": -1}', '{"page": "/c"}')


@pytest.fixture
def clicks(spark: "SparkSession", tmp_path: Path) -> "DataFrame":
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("\n".join(LINES))
    return spark.readStream.schema("page string, ms int").json(str(tmp_path / "in"))


def test_rows_that_do_not_pass_are_dropped_and_counted(clicks: "DataFrame") -> None:
    sane = Expectation(name="sane", check="ms >= 0", otherwise=Otherwise.DROP)
    home = Expectation(name="home", check="page = '/'", otherwise=Otherwise.FAIL)

    streamed = stream(check_step(clicks, "stats", [sane, home]))

    assert [tuple(row) for row in streamed.rows] == [("/", 1)]
    assert streamed.counts == {"dropped.sane": 2}


def test_row_that_must_pass_is_shown(clicks: "DataFrame") -> None:
    sane = Expectation(name="sane", check="ms >= 0")
    shown = r'expectation sane \(ms >= 0 is not true\) failed at a row of the view stats: {"page":"/b","ms":-1}'

    with pytest.raises(StreamingQueryException, match=shown):
        stream(check_step(clicks, "stats", [sane]))


def test_watermark_of_the_file_is_on_the_good_rows(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [f'{{"at": "2026-01-01T{hour:02}:00:00"}}' for hour in (0, 5)]
    # A bad line, however young, moves no watermark.
    (tmp_path / "in" / "a.json").write_text("\n".join([*lines, '{"at": "2027-01-01", "ms": "x"}']))
    pipeline = a_pipeline(
        {"files": str(tmp_path / "in"), "schema": "at timestamp, ms int", "malformed": "drop"},
        watermark={"column": "at", "delay": "1 hour"},
    )

    found = read_checked(spark, pipeline, pipeline.sources[0], a_place("b:1", tmp_path))

    hours = found.good.groupBy("at").count()
    assert [str(row.at) for row in stream(hours).rows] == ["2026-01-01 00:00:00"]
