"""The stories that every textbook on Kafka tells, with real processes: who dies, who takes over, and what is lost."""

import pytest

from cluster.conftest import MakeCluster
from cluster.processes import Ledger, Load, RealCluster, until

pytestmark = pytest.mark.cluster


def test_three_nodes_are_one_cluster(cluster: RealCluster) -> None:
    cluster.create_topic("topic", partitions=3)
    ledger = Ledger(cluster, "topic")

    ledger.write(100)

    assert {cluster.leader("topic", each) for each in range(3)} == {1, 2, 3}
    assert cluster.isr("topic") == (1, 2, 3)
    ledger.check()


def test_a_leader_dies_and_another_replica_takes_over(cluster: RealCluster) -> None:
    cluster.create_topic("topic")
    ledger = Ledger(cluster, "topic")
    ledger.write(50)
    leader = cluster.leader("topic")

    cluster.kill(leader)
    ledger.write(50)

    assert cluster.leader("topic") != leader
    ledger.check()
    cluster.start(leader)
    cluster.await_isr("topic", 3)
    ledger.check()


def test_replicas_fail_one_after_the_other_until_writes_are_refused(
    make_cluster: MakeCluster,
) -> None:
    """One controller apart, so that the brokers may all die and the quorum lives."""
    cluster = make_cluster(roles="cbbb")
    cluster.create_topic("topic", placed=[[2, 3, 4]], min_insync_replicas=2)
    ledger = Ledger(cluster, "topic", **{"message.timeout.ms": 3000})
    ledger.write(20)

    cluster.kill(4)
    cluster.await_isr("topic", 2)
    ledger.write(20)
    with_two = len(ledger.acknowledged)
    cluster.kill(3)
    cluster.await_isr("topic", 1)
    ledger.write(5)
    with_one = len(ledger.acknowledged)
    ledger.check()
    cluster.kill(2)
    ledger.write(1)
    with_none = len(ledger.acknowledged)
    # Who was in sync last is the one to wait for.
    cluster.start(2, 3, 4)
    cluster.await_isr("topic", 3)
    ledger.write(5)

    assert (with_two, with_one, with_none) == (40, 40, 40)
    assert len(ledger.acknowledged) == 45
    ledger.check()


def test_when_all_in_sync_are_gone_the_partition_waits_for_one_of_them(
    make_cluster: MakeCluster,
) -> None:
    """The default: nothing that was acknowledged is lost, and until then nobody leads."""
    cluster = make_cluster(roles="cbbb")
    cluster.create_topic("topic", placed=[[2, 3, 4]], min_insync_replicas=1)
    ledger = Ledger(cluster, "topic")
    ledger.write(10)
    cluster.kill(3, 4)
    cluster.await_isr("topic", 1)
    ledger.write(10)

    cluster.kill(2)
    cluster.start(3)
    until(lambda: cluster.state("topic", 0) == (-1, ()) or _led(cluster) is None)
    cluster.start(2)
    until(lambda: _led(cluster) == 2)

    ledger.write(5)
    assert len(ledger.acknowledged) == 25
    ledger.check()


def test_an_unclean_election_loses_what_only_the_dead_had_and_nothing_else(
    make_cluster: MakeCluster,
) -> None:
    cluster = make_cluster(roles="cbbb")
    cluster.create_topic(
        "topic", placed=[[2, 3, 4]], min_insync_replicas=1, unclean_leader_election_enable="true"
    )
    ledger = Ledger(cluster, "topic")
    ledger.write(10)
    cluster.kill(3, 4)
    cluster.await_isr("topic", 1)
    ledger.write(10)

    cluster.kill(2)
    cluster.start(3)
    until(lambda: _led(cluster) == 3)

    assert sorted(map(int, ledger.read_back().values())) == list(range(10))


def _led(cluster: RealCluster) -> int | None:
    state = cluster.state("topic", 0)
    return None if state is None or state[0] < 0 else state[0]


def test_a_leader_that_slept_acknowledges_nothing_when_it_wakes(
    make_cluster: MakeCluster,
) -> None:
    cluster = make_cluster(settings={"broker.session.timeout.ms": 3000})
    cluster.create_topic("topic", min_insync_replicas=2)
    ledger = Ledger(cluster, "topic", **{"request.timeout.ms": 2000, "socket.timeout.ms": 2000})
    ledger.write(20)
    leader = cluster.leader("topic")
    others = [each for each in (1, 2, 3) if each != leader]

    cluster.pause(leader)
    until(lambda: _led(cluster) in others)
    ledger.write(20)
    cluster.resume(leader)
    ledger.write(20)
    cluster.await_isr("topic", 3)

    assert len(ledger.acknowledged) == 60
    ledger.check()


def test_a_controlled_shutdown_fails_no_request(cluster: RealCluster) -> None:
    """One node after the other is stopped and started while somebody writes."""
    cluster.create_topic("topic", min_insync_replicas=2)
    ledger = Ledger(cluster, "topic")
    ledger.write(1)

    with Load(ledger):
        for node in (1, 2, 3):
            cluster.stop(node)
            cluster.start(node)
            cluster.await_isr("topic", 3)

    assert not ledger.refused
    assert len(ledger.acknowledged) > 50
    ledger.check()


def test_the_whole_cluster_is_killed_and_comes_back_with_everything(cluster: RealCluster) -> None:
    cluster.create_topic("topic", min_insync_replicas=2)
    ledger = Ledger(cluster, "topic")
    ledger.write(100)

    cluster.kill(1, 2, 3)
    cluster.start()

    ledger.write(10)
    assert len(ledger.acknowledged) == 110
    ledger.check()
