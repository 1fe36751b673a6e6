"""klamm quota set, list and remove."""

from __future__ import annotations

import pytest

from cli.commands import Klamm


def test_a_quota_is_set_listed_and_removed(ask: Klamm, new_name: str) -> None:
    whose = ("--user", new_name, "--client-id", "")

    assert ask("quota", "set", "producer_byte_rate=1e9", "request_percentage=1e6", *whose).code == 0

    mine = [row for row in ask("quota", "list").rows if row["user"] == new_name]
    assert [(row["client_id"], row["ip"], row["quota"], row["value"]) for row in mine] == [
        ("(default)", None, "producer_byte_rate", 1e9),
        ("(default)", None, "request_percentage", 1e6),
    ]
    removed = ask("quota", "remove", "producer_byte_rate", "request_percentage", *whose)
    assert removed.code == 0
    assert not [row for row in ask("quota", "list").rows if row["user"] == new_name]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("set", "producer_byte_rate=1"), 2, "whose quota?"),
        (("set", "producer_byte_rate", "-u", "x"), 2, "is no quota"),
        (("set", "producer_byte_rate=nan", "-u", "x"), 2, "is no quota"),
        (("set", "nope=1", "-u", "x"), 1, "Invalid configuration key nope"),
        (("set", "producer_byte_rate=-1", "-u", "x"), 1, "must be greater than 0"),
        (("set", "connection_creation_rate=1", "-i", "nowhere"), 1, "is not a valid IP"),
    ],
)
def test_what_is_no_quota_is_told_in_a_sentence(
    ask: Klamm, words: tuple[str, ...], code: int, sentence: str
) -> None:
    refused = ask("quota", *words)

    assert (refused.code, sentence in refused.err) == (code, True), refused.err
