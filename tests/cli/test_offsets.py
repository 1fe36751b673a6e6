"""The -o notation: what is understood, and what it becomes."""

import pytest

from klamm.cli.offsets import BEGINNING, END, Kind, Position, Range, parse_range
from klamm.cli.output import UsageError

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("beginning", Range(BEGINNING, None)),
        ("start", Range(BEGINNING, None)),
        ("end", Range(END, None)),
        ("42", Range(Position(Kind.OFFSET, 42), None)),
        ("-5", Range(Position(Kind.BEFORE_END, 5), None)),
        ("+5", Range(Position(Kind.AFTER_BEGINNING, 5), None)),
        ("3:7", Range(Position(Kind.OFFSET, 3), Position(Kind.OFFSET, 7))),
        (":7", Range(BEGINNING, Position(Kind.OFFSET, 7))),
        ("7:", Range(Position(Kind.OFFSET, 7), END)),
        ("-5:end", Range(Position(Kind.BEFORE_END, 5), END)),
        ("@1700000000000", Range(Position(Kind.TIMESTAMP, 1_700_000_000_000), None)),
        ("@1700000000", Range(Position(Kind.TIMESTAMP, 1_700_000_000_000), None)),
        ("@-1h", Range(Position(Kind.TIMESTAMP, NOW_MS - 3_600_000), None)),
        ("@2023-11-14", Range(Position(Kind.TIMESTAMP, 1_699_920_000_000), None)),
        ("@2023-11-14T22:13:20", Range(Position(Kind.TIMESTAMP, NOW_MS), None)),
        ("@2023-11-14T23:13:20+01:00", Range(Position(Kind.TIMESTAMP, NOW_MS), None)),
    ],
)
def test_offset_is_understood(text: str, expected: Range) -> None:
    assert parse_range(text, now_ms=NOW_MS) == expected


def test_range_of_dates_is_split_at_the_colon_between_them() -> None:
    parsed = parse_range("@2023-11-14T22:13:20:@2023-11-14T22:13:21", now_ms=NOW_MS)

    assert parsed == Range(
        Position(Kind.TIMESTAMP, NOW_MS), Position(Kind.TIMESTAMP, NOW_MS + 1000)
    )


@pytest.mark.parametrize("text", ["", "five", "@", "@soon", "--5", "1:2:3", "1.5", "@-1w", "५"])
def test_nonsense_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="is not an offset"):
        parse_range(text, now_ms=NOW_MS)
