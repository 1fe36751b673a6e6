"""klamm group list."""

from __future__ import annotations

from cli.commands import Klamm


def test_a_group_is_listed_with_its_state_and_kind(ask: Klamm, group: str) -> None:
    expected = [{"group": group, "state": "empty", "type": "classic", "protocol": None}]

    assert ask("group", "list", f"{group[:-1]}*").rows == expected
    assert ask("group", "list", "--all", group).rows == expected
