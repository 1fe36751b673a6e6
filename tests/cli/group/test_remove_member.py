"""klamm group remove-member."""

from __future__ import annotations

from cli.commands import Klamm
from cli.group.words import Member


def test_members_are_removed_by_instance_by_id_and_all(
    ask: Klamm, join: Member, new_name: str
) -> None:
    join(new_name, group_instance_id="desk-1")

    removed = ask("group", "remove-member", new_name, "--instance", "desk-1")

    assert (removed.code, removed.rows[0]["removed"]) == (0, True)
    assert ask("group", "describe", new_name).rows[0]["members"] == []
    assert ask("group", "remove-member", new_name).code == 2
    unknown = ask("group", "remove-member", new_name, "--member", "nobody")
    assert (unknown.code, unknown.rows[0]["error"]) == (1, "UNKNOWN_MEMBER_ID")


def test_all_members_are_removed(ask: Klamm, join: Member, new_name: str) -> None:
    join(new_name)

    removed = ask("group", "remove-member", new_name, "--all")

    assert (removed.code, [row["removed"] for row in removed.rows]) == (0, [True])


def test_a_group_without_members_has_nobody_to_remove(ask: Klamm, group: str) -> None:
    removed = ask("group", "remove-member", group, "--all")

    assert (removed.code, removed.out) == (0, b"")
    assert "has no members" in removed.err
