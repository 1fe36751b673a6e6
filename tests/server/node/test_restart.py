"""Stopping and starting again: what was acknowledged is still there, whatever the end was like."""

import signal
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from klamm.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest
from klamm.protocol.messages.metadata import MetadataRequest
from klamm.testing.disk import MemoryDisk
from server.asking import (
    EARLIEST,
    LATEST,
    Topic,
    a_batch,
    a_fetch,
    a_produce,
    append,
    fetched,
    offset_at,
    partition_of,
    records_in,
)
from server.conftest import create_topic, delete_topic, set_config
from server.running_node import RunningNode
from server.wire_client import ConnectionClosed, WireClient
from support.brokers import start_klamm


def metadata(client: WireClient) -> Any:
    """What the cluster knows, but for the port, which is a new one each time, and the epochs of leaders."""
    answer = client.ask(MetadataRequest(topics=None))
    for broker in answer.brokers:
        broker.port = 0
    for topic in answer.topics:
        for partition in topic.partitions:
            partition.leader_epoch = 0
    return answer


# -- a clean stop -------------------------------------------------------------------------------------------------------


def test_records_and_offsets_are_kept(tmp_path: Path) -> None:
    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t", 3)
        append(client, topic, b"one", b"two", partition=1)

    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        assert fetched(client, topic, partition=1) == [b"one", b"two"]
        assert append(client, topic, b"three", partition=1) == 2
        assert append(client, topic, b"first", partition=0) == 0


def test_the_start_of_a_log_is_kept(tmp_path: Path) -> None:
    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t")
        append(client, topic, b"0", b"1", b"2")
        below = DeleteRecordsPartition(partition_index=0, offset=2)
        gone = DeleteRecordsTopic(name="t", partitions=[below])
        client.ask(DeleteRecordsRequest(topics=[gone], timeout_ms=5_000))

    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        assert (offset_at(client, topic, EARLIEST), offset_at(client, topic, LATEST)) == (2, 3)


def test_a_batch_sent_again_after_the_restart_is_recognised(tmp_path: Path) -> None:
    # Producers are remembered for a day, by the time in their batches.
    now = int(time.time() * 1000)
    batch = a_batch(b"x", b"y", timestamp=now, producer_id=7, producer_epoch=0, base_sequence=0)
    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t")
        client.ask(a_produce(topic, batch))

    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        again = partition_of(client.ask(a_produce(topic, batch)))

        assert (again.error_code, again.base_offset) == (0, 0)
        assert offset_at(client, topic, LATEST) == 2
        following = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 2}
        assert append(client, topic, b"z", timestamp=now, **following) == 2


def test_the_cluster_is_the_same(tmp_path: Path) -> None:
    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        create_topic(client, "kept", 2)
        delete_topic(client, create_topic(client, "gone"))
        before = metadata(client)

    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        assert metadata(client) == before


def test_configs_are_kept_and_hold(tmp_path: Path) -> None:
    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t", retention_ms=1234)
        set_config(client, topic, "max.message.bytes", "500")

    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        asked = DescribeConfigsResource(
            resource_type=2,
            resource_name="t",
            configuration_keys=["retention.ms", "max.message.bytes"],
        )
        (told,) = client.ask(DescribeConfigsRequest(resources=[asked])).results
        refused = partition_of(client.ask(a_produce(topic, a_batch(b"x" * 1000))))

        assert {each.name: each.value for each in told.configs} == {
            "retention.ms": "1234",
            "max.message.bytes": "500",
        }
        assert refused.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_producer_ids_are_not_given_again(tmp_path: Path) -> None:
    given = []
    for _ in range(3):
        with RunningNode(tmp_path) as node, WireClient(node.address) as client:
            answer = client.ask(InitProducerIdRequest(transactional_id=None))
            given.append(answer.producer_id)

    assert len(set(given)) == 3


def test_a_client_that_remembers_the_leader_of_before_is_told_so(tmp_path: Path) -> None:
    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t")
        append(client, topic, b"x")

    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        partition = partition_of(client.ask(a_fetch(topic, leader_epoch=0)))
        reading_on = partition_of(client.ask(a_fetch(topic, 1, last_fetched_epoch=0)))

        assert partition.error_code == ErrorCode.FENCED_LEADER_EPOCH
        assert (reading_on.error_code, reading_on.diverging_epoch.epoch) == (0, -1)


def test_a_client_whose_log_went_another_way_is_told_where(tmp_path: Path) -> None:
    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t")
        append(client, topic, b"0", b"1")

    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        append(client, topic, b"2")

        # It has read a record of epoch 0 that we never had; ours ended at 2.
        diverged = partition_of(client.ask(a_fetch(topic, 3, last_fetched_epoch=0)))
        # The same, but below the start of our log: then that is what counts.
        below = DeleteRecordsPartition(partition_index=0, offset=3)
        gone = DeleteRecordsTopic(name="t", partitions=[below])
        client.ask(DeleteRecordsRequest(topics=[gone], timeout_ms=5_000))
        too_old = partition_of(client.ask(a_fetch(topic, 1, last_fetched_epoch=0)))

        told = diverged.diverging_epoch
        assert (diverged.error_code, told.epoch, told.end_offset) == (0, 0, 2)
        assert too_old.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_many_restarts_lose_nothing(tmp_path: Path) -> None:
    topic = None
    for number in range(6):
        with RunningNode(tmp_path) as node, WireClient(node.address) as client:
            topic = topic or create_topic(client, "t")
            assert append(client, topic, b"%d" % number) == number
            assert fetched(client, topic) == [b"%d" % each for each in range(number + 1)]


def test_a_stray_directory_is_set_aside_at_the_start(tmp_path: Path) -> None:
    with RunningNode(tmp_path):
        pass
    (tmp_path / "nobodys-0").mkdir()

    with RunningNode(tmp_path):
        found = [each.name for each in tmp_path.iterdir() if each.name.startswith("nobodys")]
        assert [name.endswith("-stray") for name in found] == [True]


# -- a power failure ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_what_was_acknowledged_after_a_sync_survives_a_power_failure(
    tmp_path: Path, seed: int
) -> None:
    disk = MemoryDisk()
    with RunningNode(tmp_path, disk=disk) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t", flush_messages=1, retention_ms=-1)
        for number in range(20):
            append(client, topic, b"%d" % number)
        after_the_failure = node.call(disk.fork)
    after_the_failure.crash(Random(seed))

    with (
        RunningNode(tmp_path, disk=after_the_failure) as node,
        WireClient(node.address) as client,
    ):
        assert fetched(client, topic)[:20] == [b"%d" % number for number in range(20)]
        assert append(client, topic, b"next") == 20


@pytest.mark.parametrize("seed", range(8))
def test_a_topic_that_was_acknowledged_survives_a_power_failure(tmp_path: Path, seed: int) -> None:
    disk = MemoryDisk()
    with RunningNode(tmp_path, disk=disk) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t", 2)
        append(client, topic, b"perhaps")
        after_the_failure = node.call(disk.fork)
    after_the_failure.crash(Random(seed))

    with (
        RunningNode(tmp_path, disk=after_the_failure) as node,
        WireClient(node.address) as client,
    ):
        # Not synced: it may be there or not, but never half.
        left = fetched(client, topic)
        assert left in ([], [b"perhaps"])
        assert append(client, topic, b"next") == len(left)


# -- a process that ends under load -------------------------------------------------------------------------------------


class Load:
    """Clients that write one batch after another, and remember what was acknowledged and where."""

    def __init__(self, address: str, topic: Topic, *, clients: int) -> None:
        self._address = address
        self._topic = topic
        self._enough = threading.Semaphore(0)
        self.acknowledged: dict[int, bytes] = {}
        self._threads = [
            threading.Thread(target=self._write, args=(number,)) for number in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def wait_for(self, acknowledgements: int) -> None:
        for _ in range(acknowledgements):
            assert self._enough.acquire(timeout=30)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(30)

    def _write(self, number: int) -> None:
        with WireClient(self._address) as client:
            for count in range(1_000_000):
                value = b"%d:%d" % (number, count)
                try:
                    answer = partition_of(client.ask(a_produce(self._topic, a_batch(value))))
                except (ConnectionClosed, OSError):
                    return
                if answer.error_code:
                    return
                self.acknowledged[answer.base_offset] = value
                self._enough.release()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_acknowledged_is_lost_when_the_process_ends_under_load(
    tmp_path: Path, how: signal.Signals
) -> None:
    broker = start_klamm(home=tmp_path)
    with WireClient(broker.address) as client:
        topic = create_topic(client, "t", segment_bytes=1048576)
    load = Load(broker.address, topic, clients=4)
    load.wait_for(400)

    broker.process.send_signal(how)
    ended = broker.process.wait(20)
    load.join()

    assert ended == (0 if how == signal.SIGTERM else -how)
    with RunningNode(broker.data_dir) as node, WireClient(node.address) as client:
        answer = partition_of(client.ask(a_fetch(topic, partition_max_bytes=1 << 30)))
        stored = {record.offset: record.value for record in records_in(answer.records)}
        assert {offset: stored.get(offset) for offset in load.acknowledged} == load.acknowledged
        assert append(client, topic, b"next") == len(stored)
