"""Whoever invents producer ids does not fill the memory."""

from pathlib import Path

from klamm.server.loops import housekeeping
from server.asking import append
from server.conftest import create_topic
from server.running_node import RunningNode
from server.wire_client import WireClient


def test_all_partitions_together_remember_only_so_many_producers(
    tmp_path: Path,
) -> None:
    settings: dict[str, object] = {"klamm.max.producer.ids": 20}
    with RunningNode(tmp_path / "data", settings) as node, WireClient(node.address) as client:
        many, few = create_topic(client, "many"), create_topic(client, "few")
        for producer_id in range(100, 150):
            append(client, many, b"x", producer_id=producer_id, producer_epoch=0, base_sequence=0)
        for producer_id in range(5):
            append(client, few, b"x", producer_id=producer_id, producer_epoch=0, base_sequence=0)

        node.run(housekeeping.Housekeeping(node.node.broker).limit_producers())

        known = {
            name: [p.producer_id for p in node.node.broker.replicas.get(name, 0).log.producers]
            for name in ("many", "few")
        }
        assert known == {"many": list(range(141, 150)), "few": list(range(5))}
