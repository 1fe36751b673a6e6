"""klamm group describe."""

from __future__ import annotations

from cli.commands import Klamm
from cli.group.words import Member


def test_describe_tells_members_and_their_partitions(
    ask: Klamm, join: Member, filled: str, new_name: str
) -> None:
    join(new_name, group_instance_id="desk-1")

    (described,) = ask("group", "describe", new_name).rows

    assert (described["state"], described["type"]) == ("stable", "classic")
    assert described["assignor"] == "range"
    (member,) = described["members"]
    assert (member["instance_id"], member["client_id"]) == ("desk-1", "cli-test")
    assert member["partitions"] == [f"{filled}-0", f"{filled}-1"]
    (row, _) = ask("group", "lag", new_name).rows
    assert (row["committed"], row["client_id"]) == (None, "cli-test")


def test_describe_draws_tables(ask: Klamm, group: str) -> None:
    drawn = ask("group", "describe", group, "-o", "table").text

    assert group in drawn
    assert f"Members of {group}" in drawn


def test_a_group_that_is_not_there_is_said_so(ask: Klamm, group: str) -> None:
    described = ask("group", "describe", f"{group}-absent", group)

    assert described.code == 1
    assert [row["group"] for row in described.rows] == [group]
    assert f"there is no group {group}-absent" in described.err
    assert ask("group", "lag", f"{group}-absent").code == 1
