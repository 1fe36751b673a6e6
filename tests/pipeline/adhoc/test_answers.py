"""How answers of SQL are printed."""

import pytest

from klamm.cli.output import Format
from klamm.cli.sql.answers import show_answer, unique
from klamm.pipeline.adhoc.answer import Answer

ANSWER = Answer(
    ["a_b", "a_b", "count(1)", "[x]"], [(1, None, True, {"c": "d"}), (2, "-", False, [1])]
)


def test_table_has_the_true_names_and_the_values_of_sql(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    show_answer(ANSWER, Format.TABLE)

    names, _, *rows = capsysbinary.readouterr().out.decode().splitlines()
    assert names.split() == ["a_b", "a_b", "count(1)", "[x]"]
    assert [row.split() for row in rows] == [
        ["1", "NULL", "true", '{"c":', '"d"}'],
        ["2", "-", "false", "[1]"],
    ]


def test_table_without_rows_still_has_names(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    show_answer(Answer(["a", "b"], []), Format.TABLE)

    assert capsysbinary.readouterr().out.decode().splitlines()[0].split() == ["a", "b"]


def test_object_has_every_column(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    show_answer(Answer(["a", "a", "a_2"], [(1, 2, 3)]), Format.JSON)

    assert capsysbinary.readouterr().out == b'{"a":1,"a_3":2,"a_2":3}\n'


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a_2", "a_3"]),
        (["a", "a", "a_2"], ["a", "a_3", "a_2"]),
        (["a_2", "a", "a"], ["a_2", "a", "a_3"]),
        (["a_2", "a_2", "a", "a"], ["a_2", "a_2_2", "a", "a_3"]),
    ],
)
def test_names_in_an_object_are_unique(names: list[str], expected: list[str]) -> None:
    assert unique(names) == expected
