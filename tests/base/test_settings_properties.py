"""Java's properties format. The examples were read by java.util.Properties with the same result."""

import pytest

from klamm.base.settings.properties import Entry, read_properties


def parsed(text: str) -> dict[str, str]:
    return {entry.name: entry.text for entry in read_properties(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a = 1", {"a": "1"}),
        ("a:1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("a\t:\t1", {"a": "1"}),
        ("a==1", {"a": "=1"}),
        ("a = : 1", {"a": ": 1"}),
        ("a", {"a": ""}),
        ("=1", {"": "1"}),
        ("  a=1", {"a": "1"}),
    ],
)
def test_a_key_ends_at_the_first_separator(text: str, expected: dict[str, str]) -> None:
    assert parsed(text) == expected


def test_blanks_after_the_value_are_part_of_it() -> None:
    assert parsed("a=1  \n") == {"a": "1  "}


def test_comments_begin_with_a_hash_or_an_exclamation_mark() -> None:
    assert parsed("# a=1\n  ! b=2\nc=3 # not a comment") == {"c": "3 # not a comment"}


def test_a_comment_does_not_go_on_in_the_next_line() -> None:
    assert parsed("# a=1 \\\nb=2") == {"b": "2"}


def test_a_backslash_at_the_end_joins_lines_and_drops_the_blanks_of_the_next() -> None:
    assert parsed("a=1,\\\n    2,\\\r\n\t3") == {"a": "1,2,3"}


def test_a_joined_line_is_no_comment() -> None:
    assert parsed("a=1\\\n#2") == {"a": "1#2"}


def test_two_backslashes_at_the_end_are_one_character() -> None:
    assert parsed("a=1\\\\\nb=2") == {"a": "1\\", "b": "2"}


def test_a_file_may_end_in_the_middle_of_a_joined_line() -> None:
    assert parsed("a=1\\") == {"a": "1"}


def test_lines_end_as_on_any_system() -> None:
    assert parsed("a=1\rb=2\r\nc=3\nd=4") == {"a": "1", "b": "2", "c": "3", "d": "4"}


def test_escapes_stand_for_characters() -> None:
    assert parsed(r"a=\u00e4\t\n\f\r\q\:") == {"a": "ä\t\n\f\rq:"}
    assert parsed(r"a\ b\=c\:d=1") == {"a b=c:d": "1"}


def test_half_a_unicode_escape_is_an_error_that_names_the_line() -> None:
    with pytest.raises(ValueError, match="line 2"):
        parsed("a=1\nb=\\u00g0")


def test_an_entry_knows_the_line_it_began_on() -> None:
    text = "# first\n\na=1,\\\n2\nb=3"

    assert list(read_properties(text)) == [Entry("a", "1,2", 3), Entry("b", "3", 5)]
