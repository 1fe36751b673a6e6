"""Bad records of a topic: dropped, kept as dead letters, or the end of the run; and what is counted."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException

from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.quality.reading import Checked, read_checked
from pipeline.reading.records import a_pipeline, a_place, as_json, create, put, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "user string, ms int"
GOOD = as_json({"user": "ann", "ms": 1}, {"user": "bob", "ms": 2})
MALFORMED = [b"{no json", *as_json({"user": "eve", "ms": "x"})]
NEGATIVE = as_json({"user": "joe", "ms": -1})
UNKNOWN = as_json({"user": "sue"})
SANE = {"name": "sane", "check": "ms >= 0"}


def checked(
    spark: "SparkSession", bootstrap: str, folder: Path, topic: str, **more: object
) -> Checked:
    source = {"topic": topic, "schema": SCHEMA, **more.pop("source", {})}  # type: ignore[dict-item]
    pipeline = a_pipeline(source, **more)
    return read_checked(spark, pipeline, pipeline.sources[0], a_place(bootstrap, folder))


def test_dropped_records_are_counted_by_the_check_that_they_did_not_pass(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "drops")
    put(bootstrap, "drops", *GOOD, *MALFORMED, *NEGATIVE, *UNKNOWN)

    found = checked(
        spark,
        bootstrap,
        tmp_path,
        "drops",
        source={"malformed": "drop"},
        expect=[{**SANE, "otherwise": "drop"}],
    )

    assert found.bad is None
    streamed = stream(found.good)
    assert [tuple(row) for row in streamed.rows] == [("ann", 1), ("bob", 2)]
    assert streamed.counts == {"read.input": 6, "dropped.malformed": 2, "dropped.sane": 2}


def test_dead_letter_is_the_raw_record_with_why_and_where(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "letters", partitions=2)
    put(bootstrap, "letters", *GOOD)
    own = [("trace", b"\x00\x01"), ("klamm.check", b"old")]
    put(
        bootstrap,
        "letters",
        *NEGATIVE,
        partition=1,
        key=b"\xff",
        headers=own,
        timestamp=1_700_000_000_123,
    )
    put(bootstrap, "letters", b"{no json")

    found = checked(
        spark,
        bootstrap,
        tmp_path,
        "letters",
        dead_letter="letters.dead",
        expect=[{**SANE, "otherwise": "dead_letter"}],
    )
    assert found.bad is not None
    good, bad = stream(found.good), stream(found.bad)

    assert [tuple(row) for row in good.rows] == [("ann", 1), ("bob", 2)]
    assert found.bad.schema.simpleString() == (
        "struct<key:binary,value:binary,headers:array<struct<key:string,value:binary>>>"
    )
    assert bad.counts == {"read.input": 4, "dead_letters": 2}
    letters = {
        bytes(row.value): (
            None if row.key is None else bytes(row.key),
            [(each.key, bytes(each.value)) for each in row.headers],
        )
        for row in bad.rows
    }
    key, headers = letters[NEGATIVE[0]]
    assert key == b"\xff"
    assert headers == [
        ("trace", b"\x00\x01"),
        ("klamm.check", b"old"),
        ("klamm.pipeline", b"tested"),
        ("klamm.check", b"sane"),
        ("klamm.reason", b"ms >= 0 is not true"),
        ("klamm.topic", b"letters"),
        ("klamm.partition", b"1"),
        ("klamm.offset", b"0"),
        ("klamm.timestamp", b"1700000000123"),
    ]
    key, headers = letters[b"{no json"]
    facts = dict(headers)
    assert key is None
    assert facts["klamm.check"] == b"malformed"
    assert facts["klamm.reason"] == (
        b"cannot be decoded as json with the schema user string, ms int: it is no JSON object"
    )
    assert facts["klamm.offset"] == b"2"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("fails-check", NEGATIVE[0], r"expectation sane \(ms >= 0 is not true\) failed at offset 2 of fails-check-0"),
        ("fails-decoding", b"[", "source input: offset 2 of fails-decoding-0 cannot be decoded as json"),
    ],
)  # fmt: skip
def test_failure_names_the_check_and_the_position(
    spark: "SparkSession", bootstrap: str, tmp_path: Path, name: str, value: bytes, sentence: str
) -> None:
    create(bootstrap, name)
    put(bootstrap, name, *GOOD, value)

    found = checked(spark, bootstrap, tmp_path, name, expect=[SANE])

    assert found.bad is None
    # A step that needs none of the columns must not make the check go away.
    with pytest.raises(StreamingQueryException, match=sentence):
        stream(found.good.selectExpr("1 AS one"))


def test_first_check_that_fails_decides(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "first-check")
    put(bootstrap, "first-check", *GOOD, *NEGATIVE, *UNKNOWN)
    expect = [
        {"name": "known", "check": "ms IS NOT NULL", "otherwise": "drop"},
        {**SANE, "otherwise": "dead_letter"},
        {"name": "last", "check": "ms > 0", "otherwise": "fail"},
    ]

    found = checked(spark, bootstrap, tmp_path, "first-check", dead_letter="d", expect=expect)

    assert found.bad is not None
    assert stream(found.good).counts == {"read.input": 4, "dropped.known": 1}
    assert [bytes(row.value) for row in stream(found.bad).rows] == NEGATIVE


def test_check_may_ask_about_metadata(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "about-metadata")
    put(bootstrap, "about-metadata", *GOOD, headers=[("h", b"1")])
    expect = [{"name": "young", "check": "_offset < 1 AND size(_headers) = 1", "otherwise": "drop"}]

    found = checked(
        spark,
        bootstrap,
        tmp_path,
        "about-metadata",
        source={"metadata": True, "headers": True},
        expect=expect,
    )

    assert found.good.columns == [
        *("user", "ms", "_key", "_topic", "_partition", "_offset", "_timestamp", "_headers")
    ]
    [row] = stream(found.good).rows
    assert (row.user, row._topic, row._partition, row._offset) == ("ann", "about-metadata", 0, 0)
    assert [(each.key, bytes(each.value)) for each in row._headers] == [("h", b"1")]


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ("mss >= 0", "expectation sane: A column, variable, or function parameter with name `mss`"),
        ("ms >=", "expectation sane: Syntax error at or near end of input"),
        ("ms + 1", "expectation sane: the check gives int, not true or false"),
    ],
)
def test_check_that_is_none_is_told_by_its_name(
    spark: "SparkSession", bootstrap: str, tmp_path: Path, check: str, sentence: str
) -> None:
    if check == "mss >= 0":
        create(bootstrap, "no-check")

    with pytest.raises(PipelineFailed, match=sentence) as raised:
        checked(spark, bootstrap, tmp_path, "no-check", expect=[{**SANE, "check": check}])

    assert raised.value.exit_code == 2


def test_record_that_a_check_cannot_be_asked_about_does_not_pass(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "check-errors")
    put(bootstrap, "check-errors", *GOOD, *as_json({"user": "zoe", "ms": 0}))
    expect = [{"name": "ratio", "check": "10 / ms > 1", "otherwise": "drop"}]

    found = checked(spark, bootstrap, tmp_path, "check-errors", expect=expect)

    assert stream(found.good).counts == {"read.input": 3, "dropped.ratio": 1}


def test_view_that_is_read_twice_in_one_query_is_counted(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "twice")
    put(bootstrap, "twice", *GOOD, *NEGATIVE)
    expect = [{**SANE, "otherwise": "drop"}]
    found = checked(spark, bootstrap, tmp_path, "twice", expect=expect)
    found.good.createOrReplaceTempView("twice")

    both = spark.sql("SELECT user FROM twice UNION ALL SELECT user FROM twice WHERE ms > 1")

    assert sorted(row.user for row in stream(both).rows) == ["ann", "bob", "bob"]


def test_value_is_parsed_once_whatever_is_checked(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    create(bootstrap, "parsed-once")
    put(bootstrap, "parsed-once", *GOOD)
    expect = [{**SANE, "otherwise": "drop"}, {"name": "named", "check": "user <> ''"}]

    found = checked(spark, bootstrap, tmp_path, "parsed-once", expect=expect)

    streamed = stream(found.good.where("ms > 1").selectExpr("upper(user) AS user"))
    assert [row.user for row in streamed.rows] == ["BOB"]
    assert streamed.plan.count("from_json") == 1
