"""Clusters that grow and shrink without an outage: brokers come, take over partitions, are drained and go."""

import pytest

from cluster.conftest import MakeCluster
from cluster.processes import Ledger, Load, RealCluster, until
from klamm.base.ids import TopicPartition

pytestmark = pytest.mark.cluster


def move(cluster: RealCluster, *replicas: int) -> None:
    place = TopicPartition("topic", 0)
    errors = cluster.asks(lambda admin: admin.partitions.reassign({place: replicas}))
    assert errors == {place: None}
    until(lambda: not cluster.asks(lambda admin: admin.partitions.reassignments()), seconds=60)
    until(lambda: cluster.isr("topic") == tuple(sorted(replicas)))


def test_partitions_move_to_other_brokers_while_they_are_written_to(
    make_cluster: MakeCluster,
) -> None:
    cluster = make_cluster(roles="xbbb")
    cluster.create_topic("topic", placed=[[1, 2]], min_insync_replicas=1)
    ledger = Ledger(cluster, "topic")
    ledger.write(500)

    with Load(ledger):
        move(cluster, 3, 4)
        move(cluster, 4, 2)

    assert not ledger.refused
    assert len(ledger.acknowledged) > 500
    assert cluster.leader("topic") in (4, 2)
    ledger.check()


def test_a_new_broker_joins_and_takes_partitions_over_while_they_are_written_to(
    make_cluster: MakeCluster,
) -> None:
    """Its directory is empty: it has never been part of the cluster."""
    cluster = make_cluster(roles="xbbb", settings={"auto.leader.rebalance.enable": "false"})
    cluster.create_topic("topic", placed=[[1, 2, 3]], min_insync_replicas=2)
    cluster.replace_disk(4)
    ledger = Ledger(cluster, "topic")
    ledger.write(200)

    with Load(ledger):
        cluster.start(4)
        move(cluster, 4, 2, 3)

    assert not ledger.refused
    assert cluster.leader("topic") in (2, 3, 4)
    ledger.check()


def test_a_broker_is_drained_stopped_and_forgotten(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(roles="xbbb")
    cluster.create_topic("topic", placed=[[4, 2, 3]], min_insync_replicas=2)
    ledger = Ledger(cluster, "topic")
    ledger.write(200)

    with Load(ledger):
        move(cluster, 1, 2, 3)
        cluster.stop(4)
        cluster.asks(lambda admin: admin.unregister_broker(4))

    described = cluster.asks(lambda admin: admin.describe_cluster())
    assert [node.node_id for node in described.nodes] == [1, 2, 3]
    assert not ledger.refused
    ledger.check()


def test_partitions_are_added_while_the_others_are_written_to(cluster: RealCluster) -> None:
    cluster.create_topic("topic", min_insync_replicas=2)
    ledger = Ledger(cluster, "topic")

    with Load(ledger):
        cluster.asks(lambda admin: admin.topics.add_partitions("topic", 3))
        until(lambda: cluster.state("topic", 2))

    # The first client hears of them when it asks again, in some minutes.
    later = Ledger(cluster, "topic")
    later.write(10, partition=2)
    assert not ledger.refused
    ledger.check()
    later.check(partition=2)
