"""klamm cluster info."""

from cli.commands import Klamm


def test_info_names_the_cluster_and_its_brokers(ask: Klamm, broker: str, topic: str) -> None:
    answer = ask("cluster", "info")

    facts = answer.rows[0]
    assert answer.code == 0
    assert len(facts["cluster_id"]) == 22
    assert [f"{node['host']}:{node['port']}" for node in facts["brokers"]] == [broker]
    assert facts["brokers"][0]["controller"] is True
    assert facts["topics"] >= 1
    assert facts["partitions"] >= 2


def test_table_shows_the_same(ask: Klamm, broker: str) -> None:
    table = ask("cluster", "info", "-o", "table").text

    assert broker.rpartition(":")[2] in table
    assert ask("cluster", "info").rows[0]["cluster_id"] in table
