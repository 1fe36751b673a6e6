"""klamm txn abort."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException, Producer

from cli.commands import Klamm


def test_an_aborted_producer_is_shut_out(
    ask: Klamm, topic: str, new_name: str, transaction: Producer
) -> None:
    aborted = ask("txn", "abort", new_name)

    assert (aborted.code, aborted.rows) == (0, [{"transactional_id": new_name, "aborted": True}])
    with pytest.raises(KafkaException):
        transaction.commit_transaction(10)
    assert ask("consume", topic, "--exit").out == b""


def test_a_hanging_transaction_is_aborted_where_it_hangs(
    ask: Klamm, topic: str, transaction: Producer
) -> None:
    where = ("--topic", topic, "--partition", "0")

    missed = ask("txn", "abort", *where, "--start-offset", "7")
    aborted = ask("txn", "abort", *where, "--start-offset", "0")

    assert missed.code == 1
    assert "no open transaction" in missed.err
    assert (aborted.code, aborted.rows[0]["aborted"]) == (0, True)
    ask("produce", topic, "-p", "0", stdin=b"after\n")
    assert [row["value"] for row in ask("consume", topic, "-p", "0", "--exit").rows] == ["after"]


def test_what_is_not_there_is_said_so(ask: Klamm, new_name: str) -> None:
    for command in ("describe", "abort"):
        refused = ask("txn", command, new_name)
        assert (refused.code, "TRANSACTIONAL_ID_NOT_FOUND" in refused.err) == (1, True)


@pytest.mark.parametrize("words", [(), ("id", "--topic", "t"), ("--topic", "t")])
def test_an_abort_must_say_of_what(ask: Klamm, words: tuple[str, ...]) -> None:
    assert ask("txn", "abort", *words).code == 2
