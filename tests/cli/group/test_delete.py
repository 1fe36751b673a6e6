"""klamm group delete."""

from __future__ import annotations

from cli.commands import Klamm
from cli.group.words import Member


def test_a_group_with_members_is_neither_reset_nor_deleted(
    ask: Klamm, join: Member, filled: str, new_name: str
) -> None:
    join(new_name)

    reset = ask("group", "reset-offsets", new_name, "-t", filled, "--to-latest", "--execute")
    deleted = ask("group", "delete", new_name)

    assert (reset.code, deleted.code) == (1, 1)
    assert "remove-member" in reset.err
    assert "NON_EMPTY_GROUP" in deleted.err


def test_a_deleted_group_is_gone_with_its_offsets(ask: Klamm, group: str) -> None:
    assert ask("group", "delete", group).rows == [{"group": group, "deleted": True}]

    assert ask("group", "list", group).rows == []
    refused = ask("group", "delete", group)
    assert (refused.code, refused.rows) == (1, [])
    assert "GROUP_ID_NOT_FOUND" in refused.err
    accepted = ask("group", "delete", group, "--if-exists")
    assert (accepted.code, accepted.rows) == (0, [{"group": group, "deleted": False}])
