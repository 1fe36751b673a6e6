"""klamm group reset-offsets."""

from __future__ import annotations

import pytest

from cli.commands import Klamm
from cli.group.words import lag_of, moved


def test_a_reset_is_only_shown_unless_told_to_execute(ask: Klamm, filled: str, group: str) -> None:
    shown = ask("group", "reset-offsets", group, "--all-topics", "--to-latest")

    assert shown.rows == [
        {
            "group": group,
            "topic": filled,
            "partition": 0,
            "committed": 3,
            "new_offset": 10,
            "reset": False,
        }
    ]
    assert "--execute" in shown.err
    assert lag_of(ask, group) == {0: (3, 10, 7)}


@pytest.mark.parametrize(
    ("how", "offset"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 10),
        (("--to-offset", "4"), 4),
        (("--to-offset", "400"), 10),
        (("--shift-by", "2"), 5),
        (("--shift-by", "-2"), 1),
        (("--shift-by", "-20"), 0),
        (("--to-datetime", "2001-01-01T00:00"), 0),
        (("--to-datetime", "2999-01-01T00:00+01:00"), 10),
        (("--by-duration", "PT1H"), 0),
        (("--by-duration", "2d"), 0),
    ],
)
def test_offsets_are_reset_to(ask: Klamm, group: str, how: tuple[str, ...], offset: int) -> None:
    assert moved(ask, group, "--all-topics", *how, "--execute") == {0: offset}
    assert lag_of(ask, group) == {0: (offset, 10, 10 - offset)}


def test_partitions_to_reset_are_named_with_their_topic(
    ask: Klamm, group: str, filled: str
) -> None:
    assert moved(ask, group, "-t", filled, "--to-latest") == {0: 10, 1: 5}
    assert moved(ask, group, "-t", f"{filled}:1", "--to-latest") == {1: 5}
    assert moved(ask, group, "-t", f"{filled}:0,1", "--to-earliest") == {0: 0, 1: 0}


@pytest.mark.parametrize(
    ("how", "code", "complaint"),
    [
        (("--all-topics",), 2, "nothing says where to"),
        (("--all-topics", "--to-latest", "--to-earliest"), 2, "more than one place"),
        (("--to-latest",), 2, "which partitions?"),
        (("--all-topics", "--by-duration", "soon"), 2, "'soon' is not a duration"),
        (("--all-topics", "--to-datetime", "soon"), 2, "'soon' is not a time"),
        (("-t", "{topic}:one", "--to-latest"), 2, "is not TOPIC:N,N"),
        (("-t", "{topic}:7", "--to-latest"), 1, "there is no partition {topic}-7"),
        (("-t", "{topic}:1", "--shift-by", "1"), 1, "nothing was committed for {topic}-1"),
    ],
)
def test_a_reset_that_makes_no_sense_is_refused(
    ask: Klamm, group: str, filled: str, how: tuple[str, ...], code: int, complaint: str
) -> None:
    words = [word.format(topic=filled) for word in how]

    refused = ask("group", "reset-offsets", group, *words)

    assert (refused.code, refused.out) == (code, b"")
    assert complaint.format(topic=filled) in refused.err
