"""klamm cluster elect-leaders."""

import pytest

from cli.commands import Klamm


def test_a_partition_that_is_led_as_it_should_be_is_left_alone(ask: Klamm, topic: str) -> None:
    answer = ask("cluster", "elect-leaders", f"{topic}:1", topic)

    assert answer.code == 0
    assert answer.rows == [
        {"topic": topic, "partition": 0, "elected": False},
        {"topic": topic, "partition": 1, "elected": False},
    ]


def test_nothing_to_elect_is_said(ask: Klamm) -> None:
    answer = ask("cluster", "elect-leaders")

    assert answer.code == 0
    assert answer.rows == []
    assert "already" in answer.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--unclean",), 2, "must be named"),
        (("nope",), 1, "klamm topic list"),
        (("nope:x",), 2, "is not TOPIC[:PARTITION]"),
        ((":1",), 2, "cannot be empty"),
    ],
)
def test_a_mistake_is_told_with_the_way_on(
    ask: Klamm, arguments: tuple[str, ...], code: int, says: str
) -> None:
    refused = ask("cluster", "elect-leaders", *arguments)

    assert refused.code == code
    assert says in refused.err


def test_a_partition_that_is_not_there_is_told(ask: Klamm, topic: str) -> None:
    refused = ask("cluster", "elect-leaders", f"{topic}:7")

    assert refused.code == 1
    assert f"there is no partition {topic}-7" in refused.err
