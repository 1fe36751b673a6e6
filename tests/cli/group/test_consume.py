"""klamm consume -g: reading as a member of a group."""

from __future__ import annotations

import pytest

from cli.commands import Klamm
from cli.group.words import lag_of


def test_consume_with_a_group_goes_on_where_the_group_stopped(ask: Klamm, group: str) -> None:
    (lagging,) = ask("group", "lag", group).rows
    topic = lagging["topic"]

    first = ask("consume", topic, "-g", group, "-n", "4", "-f", "%p:%o\\n")
    rest = ask("consume", topic, "-g", group, "--exit", "-f", "%p:%o\\n")

    assert (first.code, rest.code) == (0, 0), rest.err
    read = [tuple(map(int, line.split(":"))) for line in (first.text + rest.text).splitlines()]
    assert sorted(read) == [(0, n) for n in range(3, 10)] + [(1, n) for n in range(5)]
    assert lag_of(ask, group) == {0: (10, 10, 0), 1: (5, 5, 0)}


def test_consume_with_a_new_group_may_begin_at_the_end(
    ask: Klamm, filled: str, new_name: str
) -> None:
    assert ask("consume", filled, "-g", new_name, "-o", "end", "--exit").out == b""


@pytest.mark.parametrize("extra", [("-p", "0"), ("-o", "4"), ("-o", ":4")])
def test_a_member_cannot_choose_what_it_reads(
    ask: Klamm, filled: str, extra: tuple[str, str]
) -> None:
    refused = ask("consume", filled, "-g", "any", *extra)

    assert refused.code == 2
    assert "reset-offsets" in refused.err
