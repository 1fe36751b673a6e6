"""klamm txn describe."""

from __future__ import annotations

from confluent_kafka import Producer

from cli.commands import Klamm


def test_an_open_transaction_is_listed_and_described(
    ask: Klamm, topic: str, new_name: str, transaction: Producer
) -> None:
    listed = {row["transactional_id"]: row for row in ask("txn", "list", "-s", "Ongoing").rows}
    (described,) = ask("txn", "describe", new_name).rows

    producer_id = listed[new_name]["producer_id"]
    assert (described["state"], described["producer_id"]) == ("Ongoing", producer_id)
    assert sorted(described["partitions"]) == [f"{topic}-0", f"{topic}-1"]
    assert described["running_ms"] >= 0
    (filtered,) = ask("txn", "list", "-p", str(producer_id)).rows
    assert filtered["transactional_id"] == new_name

    transaction.commit_transaction(10)
    (described,) = ask("txn", "describe", new_name).rows
    assert described["state"] in ("CompleteCommit", "PrepareCommit")
    assert described["started"] is None or described["state"] == "PrepareCommit"
