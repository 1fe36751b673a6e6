"""A schema from examples of JSON values."""

import json
from typing import Any

import pytest

from klamm.pipeline.adhoc.inferring import Guess, guess, schema_of
from klamm.pipeline.spec.ddl import columns_of


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["text"], "string"),
        ([1, -5], "bigint"),
        ([1.5], "double"),
        ([1, 1.5], "double"),
        ([2**63], "decimal(38,0)"),
        ([1, 2**63], "decimal(38,0)"),
        ([10**40], "double"),
        ([True], "boolean"),
        ([None], "string"),
        ([None, 1], "bigint"),
        ([1, "text"], "string"),
        ([True, 1], "string"),
        (["2026-11-15T10:00:00Z"], "timestamp"),
        (["2026-11-15T10:00:00.123+01:00", "2026-11-15 10:00:00"], "timestamp"),
        (["2026-11-15T10:00:00Z", "later"], "string"),
        (["2026-13-15T10:00:00Z"], "string"),
        (["2026-11-15"], "string"),
        ([[1, 2], []], "array<bigint>"),
        ([[]], "array<string>"),
        ([[1, "x"]], "array<string>"),
        ([{"a": 1}, {"b": True}], "struct<a: bigint, b: boolean>"),
        ([{"a b": {"c": [1]}}], "struct<`a b`: struct<c: array<bigint>>>"),
        ([{}], "string"),
        ([{"a": 1}, 5], "string"),
    ],
)
def test_type_holds_all_the_values(values: list[Any], expected: str) -> None:
    found = schema_of({"x": value} for value in values)

    assert found == f"x {expected}"
    assert columns_of(found)[0].name == "x"


def test_columns_come_in_the_order_in_which_they_were_first_seen() -> None:
    assert schema_of([{"b": 1}, {"a": 1, "b": 2}]) == "b bigint, a bigint"


def test_names_that_sql_cannot_write_stand_in_backticks() -> None:
    assert schema_of([{"two words": 1, "a`b": 2, "ü": 3}]) == (
        "`two words` bigint, `a``b` bigint, `ü` bigint"
    )


def test_names_that_klamm_needs_and_names_that_differ_only_in_capitals_are_left_out() -> None:
    assert schema_of([{"_key": 1, "User": 1, "user": "x"}]) == "User bigint"


def test_objects_without_columns_have_no_schema() -> None:
    assert schema_of([{}, {"": 1}]) is None


def test_values_are_json_if_most_of_them_are_objects() -> None:
    objects = [json.dumps({"a": n}).encode() for n in range(3)]

    assert guess([*objects, b"{broken", None]) == Guess("a bigint", values=4, objects=3)


@pytest.mark.parametrize("value", [b"plain words", b"17", b'"text"', b"[1, 2]", b"\xff\x00", b""])
def test_values_that_are_no_objects_have_no_schema(value: bytes) -> None:
    assert guess([value]) == Guess(None, values=1, objects=0)


def test_nothing_is_learned_from_nothing() -> None:
    assert guess([None, None]) == Guess(None, values=0, objects=0)
