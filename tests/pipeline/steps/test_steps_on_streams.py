"""What SQL and Spark's own operators do on streams: windows, sessions, joins, deduplication."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pipeline.reading.records import as_json, put
from pipeline.steps.running_steps import a_pipeline, fill, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLICKS = "user string, at timestamp"


def click(user: str, second: int) -> dict[str, object]:
    return {"user": user, "at": f"2026-11-15T10:{second // 60:02}:{second % 60:02}Z"}


def test_window_is_given_on_when_the_watermark_has_passed_it(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    fill(bootstrap, "windows", click("ann", 1), click("bob", 9), click("ann", 12), click("eve", 40))
    sql = "SELECT minute(window.start) m, second(window.start) s, count(*) n FROM input GROUP BY window(at, '10 seconds')"
    pipeline = a_pipeline(
        "windows", CLICKS, [{"sql": sql}], watermark={"column": "at", "delay": "5 seconds"}
    )

    rows = rows_of(spark, pipeline, bootstrap, tmp_path)

    assert rows == [(0, 0, 2), (0, 10, 1)]


def test_session_ends_after_the_gap(spark: "SparkSession", bootstrap: str, tmp_path: Path) -> None:
    clicks = [click("ann", 0), click("ann", 8), click("ann", 30), click("bob", 5), click("eve", 90)]
    fill(bootstrap, "sessions", *clicks)
    sql = "SELECT user, count(*) n FROM input GROUP BY user, session_window(at, '10 seconds')"
    pipeline = a_pipeline(
        "sessions", CLICKS, [{"sql": sql}], watermark={"column": "at", "delay": "1 second"}
    )

    rows = rows_of(spark, pipeline, bootstrap, tmp_path)

    assert rows == [("ann", 1), ("ann", 2), ("bob", 1)]


def test_streams_are_joined_within_the_time_that_the_condition_gives(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    fill(bootstrap, "orders", {"id": 1, **click("ann", 0)}, {"id": 2, **click("bob", 1)})
    fill(bootstrap, "payments", {"order": 1, **click("", 5)}, {"order": 2, **click("", 50)})
    watermark = {"column": "at", "delay": "1 minute"}
    sources = [
        {"name": "orders", "topic": "orders", "schema": f"id int, {CLICKS}"},
        {"name": "payments", "topic": "payments", "schema": "order int, at timestamp"},
    ]
    sql = """
        SELECT o.id, o.user FROM orders o JOIN payments p
        ON o.id = p.order AND p.at BETWEEN o.at AND o.at + INTERVAL 10 SECONDS
    """
    pipeline = a_pipeline(
        "joined", "", [{"sql": sql}], sources=[{**s, "watermark": watermark} for s in sources]
    )

    assert rows_of(spark, pipeline, bootstrap, tmp_path) == [(1, "ann")]


def test_stream_is_joined_with_a_table(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    fill(bootstrap, "visits", click("ann", 0), click("bob", 1))
    countries = tmp_path / "countries.json"
    countries.write_text(json.dumps({"who": "ann", "country": "AT"}) + "\n")
    sql = "SELECT user, country FROM input LEFT JOIN countries ON user = who"
    table = {"name": "countries", "files": str(countries), "schema": "who string, country string"}
    pipeline = a_pipeline("visits", CLICKS, [{"sql": sql}], tables=[table])

    assert rows_of(spark, pipeline, bootstrap, tmp_path) == [("ann", "AT"), ("bob", None)]


@pytest.mark.parametrize("how", [{"forever": True}, {}], ids=["for ever", "within the watermark"])
def test_first_record_of_each_key_is_kept(
    spark: "SparkSession", bootstrap: str, tmp_path: Path, how: dict[str, object]
) -> None:
    topic = f"twice-{len(how)}"
    fill(bootstrap, topic, click("ann", 0), click("bob", 1), click("ann", 2))
    pipeline = a_pipeline(
        topic,
        CLICKS,
        [{"dedupe": "user", **how}, {"sql": "SELECT user, second(at) s FROM previous"}],
        watermark={"column": "at", "delay": "1 minute"},
    )

    assert rows_of(spark, pipeline, bootstrap, tmp_path) == [("ann", 0), ("bob", 1)]


@pytest.mark.parametrize("sql", ["SELECT user FROM previous", "SELECT user, at FROM previous"])
def test_late_record_is_a_first_record_where_keys_are_never_forgotten(
    spark: "SparkSession", bootstrap: str, tmp_path: Path, sql: str
) -> None:
    topic = f"late-{len(sql)}"
    fill(bootstrap, topic, click("ann", 0), click("bob", 600))
    steps = [{"dedupe": ["user", "at"], "forever": True}, {"sql": sql}]
    watermark = {"column": "at", "delay": "1 minute"}
    pipeline = a_pipeline(topic, CLICKS, steps, watermark=watermark)

    def users() -> list[object]:
        return [row[0] for row in rows_of(spark, pipeline, bootstrap, tmp_path)]

    assert users() == ["ann", "bob"]
    # Spark heeds the watermark of the batch before the last one.
    put(bootstrap, topic, *as_json(click("dan", 601)))
    assert users() == ["dan"]

    put(bootstrap, topic, *as_json(click("eve", 1), click("ann", 0)))

    assert users() == ["eve"]


def test_window_behind_keys_that_are_never_forgotten_is_closed_by_the_watermark(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    clicks = [click("ann", 1), click("ann", 2), click("bob", 3), click("eve", 40)]
    fill(bootstrap, "counted-once", *clicks)
    sql = (
        "SELECT second(window.start) s, count(*) n FROM previous GROUP BY window(at, '10 seconds')"
    )
    pipeline = a_pipeline(
        "counted-once",
        CLICKS,
        [{"dedupe": "user", "forever": True}, {"sql": sql}],
        watermark={"column": "at", "delay": "5 seconds"},
    )

    assert rows_of(spark, pipeline, bootstrap, tmp_path) == [(0, 2)]


def test_step_may_read_any_view_before_it_and_watermark_its_result(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    fill(bootstrap, "views", {"text": "2026-11-15T10:00:01Z"}, {"text": "2026-11-15T10:01:00Z"})
    steps = [
        {
            "sql": "SELECT to_timestamp(text) at FROM input",
            "view": "timed",
            "watermark": {"column": "at", "delay": "1 second"},
        },
        {"sql": "SELECT 'unused' FROM previous", "view": "other"},
        {"sql": "SELECT count(*) n FROM Timed GROUP BY window(at, '10 seconds')"},
    ]
    pipeline = a_pipeline("views", "text string", steps)

    assert rows_of(spark, pipeline, bootstrap, tmp_path) == [(1,)]


def test_rows_of_a_step_that_do_not_pass_are_dropped(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    fill(bootstrap, "checked", {"n": 1}, {"n": 7}, {"n": None})
    expect = [{"name": "small", "check": "twice < 10", "otherwise": "drop", "on": "doubled"}]
    pipeline = a_pipeline(
        "checked",
        "n int",
        [{"sql": "SELECT n * 2 AS twice FROM input", "view": "doubled"}],
        expect=expect,
    )

    assert rows_of(spark, pipeline, bootstrap, tmp_path) == [(2,)]
