"""Apache Kafka and klamm in one cluster: each leads, follows, coordinates and controls beside the other, and is killed."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from cluster.processes import QUICK, Ledger, read_all, until
from klamm.cli.cluster.local import LocalNode
from oracle.mixed.cluster import MixedCluster
from support.patience import eventually

pytestmark = pytest.mark.oracle
# Node 1 is broker and controller, node 2 a broker of the other kind.
FIRST, SECOND = 1, 2


@pytest.fixture(
    scope="module", params=[FIRST, SECOND], ids=["klamm-joins-kafka", "kafka-joins-klamm"]
)
def pair(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[MixedCluster]:
    cluster = MixedCluster(tmp_path_factory.mktemp("pair"), roles="xb", kafka=[request.param])
    try:
        cluster.start()
        until(lambda: len(cluster.asks(lambda admin: admin.describe_cluster()).nodes) == 2)
        cluster.create_topic("topic", placed=[[FIRST, SECOND], [SECOND, FIRST]])
        yield cluster
        assert not any("Traceback" in cluster.log_of(each) for each in (FIRST, SECOND))
    finally:
        cluster.destroy()


class Reader:
    """A member of a group that keeps all it was given."""

    def __init__(self, cluster: MixedCluster, protocol: str) -> None:
        settings = {"group.id": protocol, "group.protocol": protocol}
        self._consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                # It asks for its coordinator behind a fetch on the same connection, often several times.
                "fetch.wait.max.ms": 20,
                **QUICK,
                **settings,
            }
        )
        self._consumer.subscribe(["grouped"])
        self.seen: list[bytes] = []

    def read_up_to(self, count: int) -> None:
        """Reads so many in all, and commits."""

        def look() -> bool:
            for message in self._consumer.consume(count - len(self.seen), 0.1):
                if not message.error():
                    self.seen.append(message.value())
            return len(self.seen) >= count

        until(look, seconds=60)
        eventually(
            lambda: self._consumer.commit(asynchronous=False), seconds=60, failures=KafkaException
        )

    def committed(self) -> int:
        (found,) = self._consumer.committed([TopicPartition("grouped", 0)], timeout=30)
        return int(found.offset)

    def close(self) -> None:
        self._consumer.close()


def test_groups_follow_their_coordinator_from_one_kind_to_the_other(pair: MixedCluster) -> None:
    pair.create_topic("grouped", placed=[[SECOND, FIRST]])
    ledger = Ledger(pair, "grouped")
    ledger.write(50)
    readers = [Reader(pair, protocol) for protocol in ("classic", "consumer")]
    count = 50
    for reader in readers:
        reader.read_up_to(count)

    for coordinator, other in ((FIRST, SECOND), (SECOND, FIRST), (FIRST, SECOND)):
        pair.let_lead("__consumer_offsets", coordinator, other)
        ledger.write(50)
        count += 50
        for reader in readers:
            reader.read_up_to(count)

    assert [reader.committed() for reader in readers] == [count, count]
    for reader in readers:
        assert reader.seen == [b"%d" % number for number in range(count)]
        reader.close()


def test_a_transaction_spans_both_while_its_coordinator_moves(pair: MixedCluster) -> None:
    pair.create_topic("transacted", placed=[[FIRST, SECOND], [SECOND, FIRST]])
    producer = Producer({"bootstrap.servers": pair.bootstrap, "transactional.id": "id", **QUICK})
    producer.init_transactions(60)
    group = Consumer({"bootstrap.servers": pair.bootstrap, "group.id": "within", **QUICK})
    committed = []
    moves = ((FIRST, SECOND), (SECOND, FIRST), (FIRST, SECOND), (SECOND, FIRST))

    for number, (coordinator, other) in enumerate(moves):
        value = b"%d" % number
        producer.begin_transaction()
        producer.produce("transacted", value, partition=0)
        assert producer.flush(60) == 0
        pair.let_lead("__transaction_state", coordinator, other)
        producer.produce("transacted", value, partition=1)
        offsets = [TopicPartition("transacted", 0, number)]
        producer.send_offsets_to_transaction(offsets, group.consumer_group_metadata(), 60)
        if number == 1:
            assert producer.flush(60) == 0
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
            committed.append(value)

    for partition in (0, 1):
        found = read_all(
            pair.bootstrap, "transacted", partition, **{"isolation.level": "read_committed"}
        )
        assert list(found.values()) == committed
    (stored,) = group.committed([TopicPartition("transacted", 0)], timeout=30)
    assert stored.offset == int(committed[-1])
    group.close()


def test_a_broker_that_is_killed_comes_back_and_nothing_is_lost(pair: MixedCluster) -> None:
    ledgers = [Ledger(pair, "topic", acks="all") for _ in range(2)]

    def write_to_both(count: int) -> None:
        for partition, ledger in enumerate(ledgers):
            ledger.write(count, partition=partition, seconds=60)

    write_to_both(200)
    assert pair.isr("topic", 0) == pair.isr("topic", 1) == (FIRST, SECOND)
    assert (pair.leader("topic", 0), pair.leader("topic", 1)) == (FIRST, SECOND)
    pair.kill(SECOND)
    write_to_both(200)
    assert pair.leader("topic", 1) == FIRST
    pair.start(SECOND)
    for partition in (0, 1):
        pair.await_isr("topic", 2, partition)
    pair.let_lead("topic", SECOND, FIRST)
    write_to_both(200)

    for partition, ledger in enumerate(ledgers):
        assert len(ledger.acknowledged) == 600
        ledger.check(partition)
        name = f"topic-{partition}"
        until(lambda name=name: pair.bytes_of(FIRST, name) == pair.bytes_of(SECOND, name))


def test_controllers_of_both_kinds_take_over_from_each_other(tmp_path_factory: Any) -> None:
    """The second klamm sleeps while something is decided, so that only Kafka can follow the first; then Kafka dies."""
    kafka = 3
    cluster = MixedCluster(tmp_path_factory.mktemp("quorum"), roles="cccb", kafka=[kafka])
    metadata = "__cluster_metadata-0"

    def ends() -> dict[int, int]:
        found = cluster.asks(lambda admin: admin.quorum())
        return {each.node_id: each.end_offset for each in found.voters}

    def await_others(*numbers: int) -> None:
        until(lambda: len({ends()[each] for each in numbers}) == 1, seconds=60)

    try:
        cluster.start(1, 2, 4)
        cluster.create_topic("under-klamm", replicas=1)
        cluster.start(kafka)
        await_others(1, 2, kafka)
        active = cluster.active_controller()
        standby = 3 - active
        assert not cluster.is_kafka(active)

        cluster.pause(standby)
        cluster.create_topic("with-kafka-s-vote", replicas=1)
        cluster.kill(active)
        cluster.resume(standby)
        until(lambda: cluster.active_controller() == kafka, seconds=60)
        cluster.create_topic("under-kafka", replicas=1)
        cluster.start(active)
        await_others(1, 2, kafka)

        cluster.kill(kafka)
        until(lambda: cluster.active_controller() in (1, 2), seconds=60)
        cluster.create_topic("under-klamm-again", replicas=1)
        # What Kafka has left is a directory of klamm's, if one starts it.
        cluster.turn_into(LocalNode, kafka)
        cluster.start(kafka)
        await_others(1, 2, kafka)

        names = {each.name for each in cluster.asks(lambda admin: admin.topics.list())}
        assert names == {"under-klamm", "with-kafka-s-vote", "under-kafka", "under-klamm-again"}
        cluster.stop()
        logs = [cluster.bytes_of(each, metadata) for each in (1, 2, 3)]
        assert all(b"under-klamm-again" in each for each in logs)
        shared = min(map(len, logs))
        assert logs[0][:shared] == logs[1][:shared] == logs[2][:shared]
    finally:
        cluster.destroy()
