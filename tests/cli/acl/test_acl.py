"""klamm acl list, create, delete and test."""

from __future__ import annotations

import pytest

from cli.commands import Klamm


def test_what_is_created_is_listed_until_it_is_deleted(ask: Klamm, new_name: str) -> None:
    created = ask("acl", "create", "read", "describe", "--allow", "ann", "--topic", new_name)
    listed = ask("acl", "list", "--topic", new_name)
    deleted = ask("acl", "delete", "--topic", new_name, "--operation", "read")
    left = ask("acl", "list", "--topic", new_name)

    assert (created.code, len(created.rows)) == (0, 2)
    assert sorted(row["operation"] for row in listed.rows) == ["describe", "read"]
    assert deleted.rows == [
        {
            "permission": "allow",
            "principal": "User:ann",
            "operation": "read",
            "type": "topic",
            "resource": new_name,
            "pattern": "literal",
            "host": "*",
        }
    ]
    assert [row["operation"] for row in left.rows] == ["describe"]


def test_rules_that_cover_a_resource_are_found_by_it(ask: Klamm, new_name: str) -> None:
    ask("acl", "create", "read", "--allow", "User:ann", "--group", new_name, "--prefix")

    exact = ask("acl", "list", "--group", f"{new_name}-1")
    matching = ask("acl", "list", "--group", f"{new_name}-1", "--matching")

    assert exact.rows == []
    assert [(row["resource"], row["pattern"]) for row in matching.rows] == [(new_name, "prefixed")]


def test_the_rule_that_decides_is_told(ask: Klamm, new_name: str) -> None:
    ask("acl", "create", "read", "--allow", "ann", "--topic", new_name)
    ask("acl", "create", "all", "--deny", "ann", "--topic", new_name, "--host", "10.0.0.0/8")

    here = ask("acl", "test", "ann", "describe", "--topic", new_name)
    there = ask("acl", "test", "ann", "read", "--topic", new_name, "--host", "10.1.2.3")
    other = ask("acl", "test", "bob", "read", "--topic", new_name)
    unspoken = ask("acl", "test", "bob", "read", "--topic", f"{new_name}-x", "--allow-if-no-acl")

    assert (here.code, here.rows[0]["allowed"], here.rows[0]["operation"]) == (0, True, "read")
    assert (there.code, there.rows[0]["permission"], there.rows[0]["host"]) == (
        1,
        "deny",
        "10.0.0.0/8",
    )
    assert (other.code, "none allows" in other.rows[0]["because"]) == (1, True)
    assert (unspoken.code, unspoken.rows[0]["allowed"]) == (0, True)


@pytest.mark.parametrize(
    "words",
    [
        ("create", "read", "--allow", "ann"),
        ("create", "read", "--topic", "t"),
        ("create", "fly", "--allow", "ann", "--topic", "t"),
        ("create", "read", "--allow", "ann", "--topic", "t", "--cluster"),
        ("create", "read", "--allow", "", "--topic", "t"),
        ("delete",),
        ("test", "ann", "read"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_told_before_anybody_is_asked(ask: Klamm, words: tuple[str, ...]) -> None:
    refused = ask("acl", *words)

    assert (refused.code, bool(refused.err)) == (2, True)


def test_what_the_cluster_refuses_is_told(ask: Klamm) -> None:
    refused = ask("acl", "create", "read", "--allow", "a", "--topic", "t", "--host", "1.2.3.4/99")

    assert (refused.code, "INVALID_REQUEST" in refused.err) == (1, True)
