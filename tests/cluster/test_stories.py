"""The stories that every textbook on Kafka tells, with real processes: who dies, who takes over, and what is lost."""

from cluster.processes import Ledger, RealCluster


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
