"""The directories of three nodes go from klamm to Apache Kafka and back, each time after a clean stop."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from cluster.processes import QUICK, Ledger, read_all, until
from klamm.cli.cluster.local import LocalNode
from oracle.mixed.cluster import KafkaNode, MixedCluster

pytestmark = pytest.mark.oracle
NODES = (1, 2, 3)
COMMITTED = b"committed"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MixedCluster]:
    cluster = MixedCluster(tmp_path, roles="xxx", kafka=[])
    try:
        yield cluster
    finally:
        cluster.destroy()


def test_three_directories_are_served_by_kafka_and_by_klamm_again(cluster: MixedCluster) -> None:
    cluster.start()
    cluster.create_topic("topic", partitions=3, min_insync_replicas=2)
    cluster.create_topic("atomic", min_insync_replicas=2)
    ledger = Ledger(cluster, "topic")

    for generation, kind in enumerate((LocalNode, KafkaNode, LocalNode), 1):
        if generation > 1:
            become(cluster, kind)
        assert committed_offset(cluster) == generation - 1
        for partition in range(3):
            until(lambda at=partition: cluster.isr("topic", at) == NODES, seconds=60)
            ledger.write(50, partition=partition)
        write_a_transaction(cluster)
        commit(cluster, generation)
        check(cluster, ledger, generation)

    assert not any("Traceback" in cluster.log_of(each) for each in NODES)


def become(cluster: MixedCluster, kind: type[LocalNode]) -> None:
    cluster.stop()
    for node in NODES:
        cluster.turn_into(kind, node)
    cluster.start()


def check(cluster: MixedCluster, ledger: Ledger, generation: int) -> None:
    """All that was ever written is there once, in each partition; and of transactions only what was committed."""
    found = [value for at in range(3) for value in ledger.read_back(at).values()]
    assert len(ledger.acknowledged) == len(set(found)) == len(found) == 150 * generation
    atomic = read_all(cluster.bootstrap, "atomic", **{"isolation.level": "read_committed"})
    assert list(atomic.values()) == [COMMITTED] * generation


def write_a_transaction(cluster: MixedCluster) -> None:
    """One that is aborted, and one that is not; under the same name as before."""
    settings = {"transactional.id": "writer", "bootstrap.servers": cluster.bootstrap, **QUICK}
    producer = Producer(settings)
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("atomic", b"aborted")
    producer.flush(60)
    producer.abort_transaction(60)
    producer.begin_transaction()
    producer.produce("atomic", COMMITTED)
    producer.commit_transaction(60)


def a_consumer(cluster: MixedCluster) -> Consumer:
    return Consumer({"group.id": "group", "bootstrap.servers": cluster.bootstrap, **QUICK})


def commit(cluster: MixedCluster, offset: int) -> None:
    consumer = a_consumer(cluster)
    consumer.commit(offsets=[TopicPartition("topic", 0, offset)], asynchronous=False)
    consumer.close()


def committed_offset(cluster: MixedCluster) -> int:
    """Of the group, as its coordinator has it; 0 if it has none."""
    consumer = a_consumer(cluster)
    (found,) = consumer.committed([TopicPartition("topic", 0)], 60)
    consumer.close()
    return max(found.offset, 0)
