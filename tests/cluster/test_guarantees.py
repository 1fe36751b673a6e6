"""What each setting promises, with real processes: acks, min.insync.replicas, and reading from a replica nearby."""

import json

import pytest
from confluent_kafka import Consumer, TopicPartition

from cluster.conftest import MakeCluster
from cluster.processes import QUICK, Ledger, RealCluster, until

pytestmark = pytest.mark.cluster


def test_acks_all_loses_nothing_when_the_leader_dies(cluster: RealCluster) -> None:
    cluster.create_topic("topic", min_insync_replicas=2)
    ledger = Ledger(cluster, "topic", acks="all")
    ledger.write(200)

    cluster.kill(cluster.leader("topic"))
    ledger.write(1)

    assert len(ledger.acknowledged) == 201
    ledger.check()


def test_acks_1_may_lose_what_no_follower_had(make_cluster: MakeCluster) -> None:
    """The followers sleep, so only the leader has what it acknowledges; then it dies, and they lead without it."""
    cluster = make_cluster(
        roles="cbbb",
        settings={"replica.lag.time.max.ms": 60_000, "broker.session.timeout.ms": 60_000},
    )
    cluster.create_topic("topic", placed=[[2, 3, 4]])
    ledger = Ledger(cluster, "topic", acks=1, **{"enable.idempotence": False})
    ledger.write(10)
    everything = Ledger(cluster, "topic", acks="all")
    everything.write(1)

    cluster.pause(3)
    cluster.pause(4)
    # The first is on its way to them already, in the answers to the fetches that they had sent.
    for _ in range(5):
        ledger.write(1)
    cluster.kill(2)
    cluster.resume(3)
    cluster.resume(4)
    until(lambda: cluster.leader("topic") in (3, 4))

    kept = set(ledger.read_back().values())
    assert len(ledger.acknowledged) == 15
    assert {b"%d" % number for number in range(10)} <= kept
    assert not {b"%d" % number for number in range(11, 15)} & kept


def test_acks_0_is_acknowledged_by_nobody(cluster: RealCluster) -> None:
    """The client takes it for done when it has sent it, and knows no offset."""
    cluster.create_topic("topic")
    # Whoever sends before the leader knows that it leads would lose it.
    Ledger(cluster, "topic").write(1)
    ledger = Ledger(cluster, "topic", acks=0, **{"enable.idempotence": False})

    ledger.write(10)

    assert set(ledger.acknowledged.values()) == {None}
    until(lambda: len(ledger.read_back()) == 11)


def test_a_consumer_reads_from_the_replica_in_its_rack(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(
        settings={
            "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"
        },
        of_node={number: {"broker.rack": f"rack-{number}"} for number in (1, 2, 3)},
    )
    cluster.create_topic("topic", placed=[[1, 2, 3]])
    ledger = Ledger(cluster, "topic")
    ledger.write(100)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "near",
            "client.rack": "rack-3",
            "auto.offset.reset": "earliest",
            "statistics.interval.ms": 100,
            "stats_cb": lambda text: stats.append(text),
            **QUICK,
        }
    )
    stats: list[str] = []
    consumer.assign([TopicPartition("topic", 0, 0)])

    found: list[bytes] = []
    while len(found) < 100:
        found += [each.value() for each in consumer.consume(50, timeout=1.0)]
    ledger.write(50)
    while len(found) < 150:
        found += [each.value() for each in consumer.consume(50, timeout=1.0)]

    def is_served_nearby() -> bool:
        """librdkafka counts requests by broker and kind, and tells so from time to time to who polls."""
        consumer.poll(0.1)
        return any(_fetches_from(text, 3) for text in stats)

    until(is_served_nearby)
    consumer.close()
    assert found == [b"%d" % number for number in range(150)]


def _fetches_from(text: str, broker: int) -> bool:
    brokers = json.loads(text)["brokers"].values()
    return any(each["nodeid"] == broker and each["req"].get("Fetch", 0) > 0 for each in brokers)
