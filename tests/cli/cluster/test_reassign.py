"""klamm cluster reassign and decommission, where there is one broker only."""

import pytest

from cli.commands import Klamm


def test_a_move_to_where_it_is_is_done_at_once(ask: Klamm, topic: str) -> None:
    answer = ask("cluster", "reassign", f"{topic}:1", "--to", "1", "--wait")

    assert answer.code == 0
    assert answer.rows == [{"topic": topic, "partition": 1, "replicas": [1], "moved": True}]


def test_nothing_to_cancel_is_no_failure(ask: Klamm, topic: str) -> None:
    answer = ask("cluster", "reassign", topic, "--cancel")

    assert answer.code == 0
    assert [row["cancelled"] for row in answer.rows] == [False, False]


def test_a_broker_that_is_not_there_is_refused(ask: Klamm, topic: str) -> None:
    refused = ask("cluster", "reassign", topic, "--to", "77")

    assert refused.code == 1
    assert refused.rows == []
    assert f"{topic}-0 was not moved" in refused.err


@pytest.mark.parametrize(
    "arguments", [(), ("--to", "1", "--cancel"), ("--to", "1,1"), ("--to", ""), ("--to", "1,x")]
)
def test_a_wrong_list_of_brokers_is_wrong_usage(
    ask: Klamm, topic: str, arguments: tuple[str, ...]
) -> None:
    refused = ask("cluster", "reassign", topic, *arguments)

    assert refused.code == 2
    assert "--to 1,2,3" in refused.err


@pytest.mark.parametrize(("number", "says"), [("77", "there is no broker 77"), ("1", "no other")])
def test_a_broker_that_cannot_go_is_told(ask: Klamm, number: str, says: str) -> None:
    refused = ask("cluster", "decommission", number, "--yes")

    assert refused.code == 1
    assert says in refused.err
