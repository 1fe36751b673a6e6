"""Durations, times and schema texts, which are read without Spark."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.pipeline.spec import Duration, FromTime, parse_time
from klamm.pipeline.spec.ddl import BadSchema, Column, columns_of
from klamm.pipeline.spec.problems import nearest


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("10 seconds", 10_000),
        ("1 second", 1000),
        ("500ms", 500),
        ("1 hour 30 minutes", 5_400_000),
        ("2 Days", 172_800_000),
        ("1w", 604_800_000),
        ("0 seconds", 0),
    ],
)
def test_durations_in_words(text: str, ms: int) -> None:
    assert Duration.of(text) == Duration(ms)


@pytest.mark.parametrize("text", ["", "10", "seconds", "10 parsecs", "-1 second", "9999999 weeks"])
def test_words_that_are_no_duration(text: str) -> None:
    with pytest.raises(ValueError):
        Duration.of(text)


@given(st.integers(0, 10**10))
def test_a_duration_reads_back_from_its_text(ms: int) -> None:
    assert Duration.of(str(Duration(ms))) == Duration(ms)


@pytest.mark.parametrize(
    "text", ["@1970-01-02", "@1970-01-02T00:00Z", "@1970-01-02T02:00+02:00", "@1970-01-01 23:00-01"]
)
def test_times_are_utc_unless_they_say_otherwise(text: str) -> None:
    assert parse_time(text) == FromTime(86_400_000)


@pytest.mark.parametrize(
    "text", ["@", "@now", "@1969-12-31", "@2026-13-01", "@0001-01-01T00:00+05:00"]
)
def test_words_that_are_no_time(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


@given(st.integers(10**9, 10**14 - 1))
def test_a_time_reads_back_from_its_text(timestamp_ms: int) -> None:
    time = FromTime(timestamp_ms)

    assert parse_time(str(time)) == time


@pytest.mark.parametrize(
    ("schema", "columns"),
    [
        ("user string, at TIMESTAMP", [("user", "string"), ("at", "timestamp")]),
        ("a: int, b : bigint", [("a", "int"), ("b", "bigint")]),
        ("m map<string, array<int>>, d decimal(10, 2)", [("m", "map"), ("d", "decimal")]),
        ("`odd, name` int NOT NULL COMMENT 'a, b (c'", [("odd, name", "int")]),
        ('s struct<a: int, b: string> COMMENT "x"\n, t\ttime', [("s", "struct"), ("t", "time")]),
    ],
)
def test_columns_of_a_schema(schema: str, columns: list[tuple[str, str]]) -> None:
    assert columns_of(schema) == tuple(Column(*each) for each in columns)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("user", "user has no type"),
        ("user string,", "a column is empty"),
        ("user strin", "strin is no type of Spark SQL; did you mean string?"),
        ("a int, A int", "A stands there twice"),
        ("a array<int", "a > is missing at the end"),
        ("a int)", "a ) closes nothing"),
        ("`a int", "a ` is missing at the end"),
    ],
)
def test_what_is_wrong_with_a_schema(schema: str, reason: str) -> None:
    with pytest.raises(BadSchema) as bad:
        columns_of(schema)

    assert str(bad.value) == reason


@given(st.text())
def test_any_text_is_a_schema_or_a_bad_one(text: str) -> None:
    try:
        columns = columns_of(text)
    except BadSchema:
        return
    assert columns


def test_the_nearest_word_looks_past_case_and_dashes() -> None:
    choices = ["at_least_once", "exactly_once"]

    assert nearest("Exactly-Once", choices) == "exactly_once"
    assert nearest("never", choices) is None
