"""Slow disks and failing ones: what is acknowledged when, and who is told what."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from klamm.protocol.messages.metadata import MetadataRequest
from klamm.server.loops.housekeeping import Housekeeping
from klamm.testing.disk import MemoryDisk, MemoryFile
from server.asking import (
    a_batch,
    a_fetch,
    a_produce,
    append,
    error,
    fetched,
    offset_at,
    partition_of,
)
from server.conftest import create_topic, delete_topic
from server.running_node import RunningNode
from server.wire_client import WireClient

DATA = Path("/data")


class SlowFile(MemoryFile):
    def fsync(self) -> None:
        disk = self._disk
        assert isinstance(disk, SlowDisk)
        disk.pass_the_gate(self._path)
        super().fsync()


class SlowDisk(MemoryDisk):
    """A disk whose syncs of one partition's files wait at a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.somebody_waits = threading.Event()
        self._gate = threading.Event()
        self._gate.set()

    def open(self, path: str, create: bool = False) -> SlowFile:
        file = super().open(path, create)
        return SlowFile(self, path, file._node)

    def pass_the_gate(self, path: str) -> None:
        if "/slow-" in path and not self._gate.is_set():
            self.somebody_waits.set()
            assert self._gate.wait(30)

    @contextmanager
    def closed(self) -> Iterator[None]:
        self._gate.clear()
        try:
            yield
        finally:
            self._gate.set()


def has_no_answer(client: WireClient, other: WireClient) -> bool:
    """True if the broker, which answers somebody else meanwhile, has sent nothing to this client."""
    other.ask(MetadataRequest(topics=[]))
    client.socket.setblocking(False)
    try:
        return client.socket.recv(1) is None
    except BlockingIOError:
        return True
    finally:
        client.socket.settimeout(20)


def test_with_flush_messages_an_append_is_acknowledged_after_the_sync() -> None:
    disk = SlowDisk()
    with (
        RunningNode(DATA, disk=disk) as node,
        WireClient(node.address) as writer,
        WireClient(node.address) as other,
    ):
        topic = create_topic(other, "slow", flush_messages=1)

        with disk.closed():
            writer.send(a_produce(topic, a_batch(b"x")))
            assert disk.somebody_waits.wait(20)

            assert has_no_answer(writer, other)

        assert partition_of(writer.receive()).base_offset == 0


def test_those_who_come_during_a_sync_are_served_by_the_next_one_together() -> None:
    disk = SlowDisk()
    with RunningNode(DATA, disk=disk) as node, WireClient(node.address) as other:
        topic = create_topic(other, "slow", flush_messages=1)
        writers = [WireClient(node.address) for _ in range(10)]

        with disk.closed():
            for writer in writers:
                writer.send(a_produce(topic, a_batch(b"x")))
            assert disk.somebody_waits.wait(20)
            assert all(has_no_answer(writer, other) for writer in writers)

        offsets = [partition_of(writer.receive()).base_offset for writer in writers]
        assert sorted(offsets) == list(range(10))
        for writer in writers:
            writer.close()


def test_a_slow_sync_of_one_topic_holds_up_no_other() -> None:
    disk = SlowDisk()
    with (
        RunningNode(DATA, disk=disk) as node,
        WireClient(node.address) as writer,
        WireClient(node.address) as other,
    ):
        slow = create_topic(other, "slow", flush_messages=1)
        quick = create_topic(other, "quick")

        with disk.closed():
            writer.send(a_produce(slow, a_batch(b"x")))
            assert disk.somebody_waits.wait(20)

            assert append(other, quick, b"x") == 0
            assert fetched(other, quick) == [b"x"]

        writer.receive()


def test_without_flush_messages_nobody_waits_for_the_disk() -> None:
    disk = SlowDisk()
    with RunningNode(DATA, disk=disk) as node, WireClient(node.address) as client:
        topic = create_topic(client, "slow")

        with disk.closed():
            assert append(client, topic, b"x") == 0

        assert not disk.somebody_waits.is_set()


def test_a_stop_waits_for_the_sync_under_way() -> None:
    disk = SlowDisk()
    node = RunningNode(DATA, disk=disk)
    with WireClient(node.address) as writer:
        topic = create_topic(writer, "slow", flush_messages=1)
        with disk.closed():
            writer.send(a_produce(topic, a_batch(b"x")))
            assert disk.somebody_waits.wait(20)
            stopping = threading.Thread(target=node.stop)
            stopping.start()
        stopping.join(20)

    assert not stopping.is_alive()
    assert disk.exists(f"{DATA}/.kafka_cleanshutdown")
    with RunningNode(DATA, disk=disk) as again, WireClient(again.address) as client:
        assert fetched(client, topic) == [b"x"]


# -- disks that fail ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [8, 9, 13])
def test_a_failed_write_is_told_and_takes_the_directory_offline(version: int) -> None:
    disk = MemoryDisk()
    with RunningNode(DATA, disk=disk) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t")
        append(client, topic, b"before")

        disk.fail("pwrite", "t-0/00000000000000000000.log")
        failed = partition_of(client.ask(a_produce(topic, a_batch(b"lost")), version))
        disk.heal()
        # Once and for good: nobody knows any more what is on the disk.
        after = partition_of(client.ask(a_produce(topic, a_batch(b"later")), version))

        assert failed.error_code == after.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_failed_sync_is_told_to_who_waits_for_it() -> None:
    disk = MemoryDisk()
    with RunningNode(DATA, disk=disk) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t", flush_messages=1)

        disk.fail("fsync", "t-0/00000000000000000000.log")
        answer = partition_of(client.ask(a_produce(topic, a_batch(b"x"))))

        assert error(answer.error_code) == ErrorCode.KAFKA_STORAGE_ERROR


def test_who_waits_for_data_of_a_failed_directory_is_told() -> None:
    disk = MemoryDisk()
    with (
        RunningNode(DATA, disk=disk) as node,
        WireClient(node.address) as reader,
        WireClient(node.address) as writer,
    ):
        topic = create_topic(writer, "t")
        append(writer, topic, b"x")
        reader.send(a_fetch(topic, 1, min_bytes=1, max_wait_ms=600_000))

        disk.fail("pwrite", "t-0/00000000000000000000.log")
        writer.ask(a_produce(topic, a_batch(b"lost")))

        answer = partition_of(reader.receive())
        assert error(answer.error_code) == ErrorCode.KAFKA_STORAGE_ERROR


def two_directories() -> dict[str, object]:
    return {"log.dirs": "/first,/second"}


def test_the_other_directory_goes_on() -> None:
    disk = MemoryDisk()
    with (
        RunningNode(DATA, two_directories(), disk=disk) as node,
        WireClient(node.address) as client,
    ):
        topic = create_topic(client, "t", 2)
        broker = node.node.broker
        homes = node.call(
            lambda: {p.name.partition: broker.replicas.home_of(p).path for p in broker.replicas}
        )
        (bad,) = (index for index, path in homes.items() if path == "/second")
        good = 1 - bad

        disk.fail("pwrite", f"/second/t-{bad}/00000000000000000000.log")
        failed = partition_of(client.ask(a_produce(topic, a_batch(b"x"), partition=bad)))

        assert error(failed.error_code) == ErrorCode.KAFKA_STORAGE_ERROR
        assert append(client, topic, b"x", partition=good) == 0
        assert offset_at(client, topic, -1, partition=good) == 1
        # What is new goes where it can.
        assert append(client, create_topic(client, "new"), b"x") == 0


def test_a_node_starts_without_a_directory_whose_disk_says_no_and_nothing_in_it_is_lost(
    tmp_path: Path,
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    settings = {"log.dirs": f"{one},{two}"}
    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t", 2)
        for index in (0, 1):
            append(client, topic, b"before", partition=index)
        broker = node.node.broker
        homes = node.call(
            lambda: {p.name.partition: broker.replicas.home_of(p).path for p in broker.replicas}
        )
    (bad,) = (index for index, path in homes.items() if path == str(two))

    two.rename(tmp_path / "away")
    two.write_text("no directory")
    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as client:
        refused = partition_of(client.ask(a_produce(topic, a_batch(b"x"), partition=bad)))
        assert append(client, topic, b"x", partition=1 - bad) == 1
        (first, second) = client.ask(DescribeLogDirsRequest(topics=None)).results
    assert error(refused.error_code) == ErrorCode.KAFKA_STORAGE_ERROR
    assert (first.error_code, first.log_dir) == (0, str(one))
    assert (error(second.error_code), second.log_dir) == (
        ErrorCode.KAFKA_STORAGE_ERROR,
        str(two),
    )

    two.unlink()
    (tmp_path / "away").rename(two)
    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as client:
        assert append(client, topic, b"after", partition=bad) == 1


def test_a_failed_directory_does_not_end_as_if_all_were_well() -> None:
    disk = MemoryDisk()
    with RunningNode(DATA, disk=disk) as node, WireClient(node.address) as client:
        topic = create_topic(client, "t")
        disk.fail("pwrite", "t-0/00000000000000000000.log")
        client.ask(a_produce(topic, a_batch(b"lost")))
        disk.heal()

    assert not disk.exists(f"{DATA}/.kafka_cleanshutdown")
    # And the next start looks what is there.
    with RunningNode(DATA, disk=disk) as node, WireClient(node.address) as client:
        assert append(client, topic, b"works again") == 0


def test_a_topic_that_did_not_reach_the_metadata_log_is_not_acknowledged() -> None:
    disk = MemoryDisk()
    with RunningNode(DATA, disk=disk) as node, WireClient(node.address) as client:
        create_topic(client, "t")

        disk.fail("fsync", "__cluster_metadata-0/00000000000000000000.log")

        wanted = CreatableTopic(name="u", num_partitions=1, replication_factor=1)
        (refused,) = client.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000)).topics
        assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        with WireClient(node.address) as another:
            known = another.ask(MetadataRequest(topics=None)).topics
            assert [topic.name for topic in known] == ["t"]

    assert node.node.has_failed


def test_a_deleted_partition_that_cannot_be_removed_yet_is_tried_again_and_the_house_is_kept() -> (
    None
):
    disk = MemoryDisk()
    with RunningNode(DATA, disk=disk) as node, WireClient(node.address) as client:
        topic = create_topic(client, "gone", file_delete_delay_ms=0)
        delete_topic(client, topic)
        housekeeping = Housekeeping(node.node.broker)
        disk.fail("rmtree")

        node.run(housekeeping.remove_deleted())

        assert [path.endswith("-delete") for _, path in node.node.broker.deleted] == [True]
        disk.heal()
        node.node.broker.deleted = [(0, path) for _, path in node.node.broker.deleted]
        node.run(housekeeping.remove_deleted())
        assert not any(name.endswith("-delete") for name in disk.listdir(str(DATA)))
