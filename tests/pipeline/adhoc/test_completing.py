"""What the shell of `klamm sql` offers."""

import pytest

from klamm.pipeline.adhoc.completing import Completions, completions

NAMES = ["clicks", "page-views", "orders"]
COLUMNS = {"clicks": ["user", "user agent", "ms"], "orders": ["user", "total"]}


def offered(before: str, after: str = "") -> list[str]:
    return completions(
        before,
        after,
        names=NAMES,
        columns_of=lambda name: COLUMNS.get(name, []),
        functions=["upper", "user", "sum"],
    ).words


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("SELECT * FROM ", ["clicks", "`page-views`", "orders"]),
        ("SELECT * FROM pa", ["`page-views`"]),
        ("SELECT * FROM `pa", ["`page-views`"]),
        ("SELECT * FROM `cl", []),
        ("SELECT * FROM clicks, ", ["clicks", "`page-views`", "orders"]),
        ("SELECT * FROM clicks JOIN OR", ["orders"]),
        ("DESCRIBE c", ["clicks"]),
    ],
)
def test_topics_and_tables_come_where_one_is_named(before: str, expected: list[str]) -> None:
    assert offered(before) == expected


def test_columns_of_what_the_statement_reads_come_first() -> None:
    assert offered("SELECT us", " FROM clicks") == ["user", "`user agent`", "using"]
    assert offered("SELECT * FROM ORDERS WHERE TO") == ["total"]


def test_keywords_are_written_as_the_word_was_begun() -> None:
    assert offered("sel") == ["select"]
    assert offered("SEL") == ["SELECT"]
    assert offered("SELECT su") == ["sum"]


def test_nothing_is_offered_for_nothing() -> None:
    assert offered("SELECT ") == []
    assert offered("SELECT a FROM clicks WHERE xyz") == []


def test_completion_takes_the_place_of_the_word_that_was_begun() -> None:
    found = completions("SELECT * FROM `pa", names=NAMES, columns_of=lambda name: [])

    assert found == Completions(len("SELECT * FROM "), ["`page-views`"])
