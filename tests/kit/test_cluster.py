"""A cluster in a test: who leads, who is killed, who does not reach whom."""

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Producer

from klamm.testing import Cluster
from support.patience import eventually

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with Cluster(topics={"orders": 3}) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: Cluster) -> Iterator[Cluster]:
    """Whole again after each test."""
    yield shared
    shared.heal()
    for number in shared.brokers:
        if number not in shared.running:
            shared.restart(number)
    shared.wait_healthy()


def send(cluster: Cluster, value: str) -> KafkaError | None:
    reports: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    producer.produce("orders", value, partition=0, on_delivery=lambda e, _: reports.append(e))
    assert producer.flush(60) == 0
    return reports[0]


def test_another_takes_over_when_the_leader_is_killed(cluster: Cluster) -> None:
    assert cluster.isr("orders", 0) == {1, 2, 3}
    assert send(cluster, "before") is None
    leader = cluster.leader("orders", 0)

    cluster.kill(leader)

    assert leader not in cluster.running
    eventually(lambda: _other_than(cluster, leader))
    assert send(cluster, "after") is None
    cluster.expect("orders").within(30).contains("before", "after")
    cluster.restart(leader)
    cluster.wait_healthy()
    assert cluster.isr("orders", 0) == {1, 2, 3}


def _other_than(cluster: Cluster, number: int) -> None:
    assert cluster.leader("orders", 0) != number


def test_who_is_cut_off_leads_no_more(cluster: Cluster) -> None:
    leader = cluster.leader("orders", 0)
    others = set(cluster.brokers) - {leader}

    cluster.cut({leader}, others)

    eventually(lambda: _other_than(cluster, leader), seconds=60)
    cluster.heal()
    cluster.wait_healthy()
    assert cluster.isr("orders", 0) == {1, 2, 3}
    assert send(cluster, "healed") is None


def test_faults_are_those_of_one_broker(cluster: Cluster) -> None:
    broker = cluster.broker(cluster.leader("orders", 0))
    with broker.faults.error("PRODUCE", "NOT_ENOUGH_REPLICAS", times=2) as fault:
        assert send(cluster, "in the end") is None

    fault.assert_injected(2)
    assert [each.errors for each in broker.transcript(api="PRODUCE", errors=True)] == [
        ("NOT_ENOUGH_REPLICAS",),
        ("NOT_ENOUGH_REPLICAS",),
    ]


def test_a_clean_stop_hands_over(cluster: Cluster) -> None:
    leader = cluster.leader("orders", 1)

    cluster.stop_broker(leader)

    assert cluster.leader("orders", 1) != leader
    assert leader not in cluster.isr("orders", 1)
    with pytest.raises(RuntimeError, match="does not run"):
        cluster.broker(leader).transcript()
    with pytest.raises(ValueError, match="there is no broker 7"):
        cluster.kill(7)


def test_a_cluster_that_is_not_well_is_told_of(cluster: Cluster) -> None:
    victim, *_ = set(cluster.brokers) - {cluster.leader("orders", 0)}
    cluster.broker(victim).pause()
    try:
        eventually(lambda: _not_in_sync(cluster, victim), seconds=60)
        with pytest.raises(AssertionError, match="the cluster is not well after 0 s"):
            cluster.wait_healthy(0)
    finally:
        cluster.broker(victim).resume()


def _not_in_sync(cluster: Cluster, number: int) -> None:
    assert number not in cluster.isr("orders", 0)
