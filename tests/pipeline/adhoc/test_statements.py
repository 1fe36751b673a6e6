"""Where one statement ends and the next begins."""

import pytest

from klamm.pipeline.adhoc.statements import Split, is_blank, split


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1;", ["SELECT 1"], ""),
        ("SELECT 1; SELECT\n2;\nSELECT", ["SELECT 1", "SELECT\n2"], "\nSELECT"),
        ("SELECT ';' ; SELECT `a;b`;", ["SELECT ';'", "SELECT `a;b`"], ""),
        ('SELECT ";"; 1', ['SELECT ";"'], " 1"),
        (r"SELECT 'it\'s;' ; x", [r"SELECT 'it\'s;'"], " x"),
        (r"SELECT r'\'; x", [r"SELECT r'\'"], " x"),
        (r"SELECT bar'\';'; x", [r"SELECT bar'\';'"], " x"),
        ("SELECT 1 -- no; end", [], "SELECT 1 -- no; end"),
        ("SELECT 1 /* no; end */; x", ["SELECT 1 /* no; end */"], " x"),
        ("SELECT 'open; ", [], "SELECT 'open; "),
        ("SELECT 'open\\", [], "SELECT 'open\\"),
        ("SELECT /* open; ", [], "SELECT /* open; "),
        (";; /* nothing */ ;", [], ""),
        ("BEGIN SELECT 1; SELECT 2; END; x", ["BEGIN SELECT 1; SELECT 2; END"], " x"),
    ],
)
def test_statement_ends_with_a_semicolon(text: str, statements: list[str], rest: str) -> None:
    assert split(text) == Split(statements, rest)


def test_last_statement_of_a_text_needs_no_semicolon() -> None:
    assert split("SELECT 1; SELECT 2 ").all == ["SELECT 1", "SELECT 2"]
    assert split("SELECT 1; -- that was it").all == ["SELECT 1"]


@pytest.mark.parametrize(
    ("text", "expected"), [("", True), (" \n-- a\n/* b */", True), ("-- a\nb", False)]
)
def test_space_and_comments_are_no_statement(text: str, expected: bool) -> None:
    assert is_blank(text) is expected
