"""A node that compacts its logs while it serves them."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from klamm.base.ids import TopicPartition
from klamm.log.checkpoints import CLEANER_OFFSETS, read_offsets
from klamm.log.disk import RealDisk
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.server.world.compaction_process import CompactionProcess
from klamm.testing.disk import MemoryDisk
from server.asking import (
    EARLIEST,
    LATEST,
    NOW,
    Topic,
    a_fetch,
    a_produce,
    offset_at,
    partition_of,
    records_in,
)
from server.conftest import create_topic, delete_topic
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually

SETTINGS = {"log.cleaner.backoff.ms": 10}
COMPACTED = {
    "cleanup_policy": "compact",
    "internal_segment_bytes": 1000,
    "min_cleanable_dirty_ratio": 0.0,
}
Pairs = list[tuple[int, bytes | None, bytes | None]]


@contextmanager
def a_node(data: Path, **settings: object) -> Iterator[tuple[RunningNode, WireClient]]:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    with RunningNode(data, {**SETTINGS, **named}) as node, WireClient(node.address) as client:
        yield node, client


def put(client: WireClient, topic: Topic, count: int, *, keys: int = 3, start: int = 0) -> None:
    """One batch a record: value n has the key n % keys."""
    for number in range(start, start + count):
        record = Record(timestamp=NOW, key=b"k%d" % (number % keys), value=b"v%d" % number * 20)
        answer = client.ask(a_produce(topic, build_batch([record])))
        assert partition_of(answer).error_code == 0, answer


def offsets(client: WireClient, topic: Topic) -> list[int]:
    """Of all records that a consumer finds."""
    found: list[int] = []
    offset, end = offset_at(client, topic, EARLIEST), offset_at(client, topic, LATEST)
    while offset < end:
        records = records_in(partition_of(client.ask(a_fetch(topic, offset))).records)
        if not records:
            break
        found += [record.offset for record in records]
        offset = found[-1] + 1
    return found


def is_compacted(client: WireClient, topic: Topic, *, keys: int = 3) -> Callable[[], None]:
    """No key twice but in the segment that is still being written."""

    def look() -> None:
        found = offsets(client, topic)
        assert len(found) < keys + 15, f"{len(found)} records are left"

    return look


def until_cleaned(data: Path) -> int:
    """Where the next round over the topic `t` begins, after most of a hundred records were looked at."""

    def look() -> int:
        cleaned = read_offsets(RealDisk(), f"{data}/{CLEANER_OFFSETS}")
        assert cleaned.get(TopicPartition("t", 0), 0) > 80
        return cleaned[TopicPartition("t", 0)]

    return eventually(look)


def test_last_value_of_each_key_stays_where_it_was(tmp_path: Path) -> None:
    with a_node(tmp_path) as (_, client):
        topic = create_topic(client, "t", **COMPACTED)
        put(client, topic, 100)

        eventually(is_compacted(client, topic))

        assert offsets(client, topic)[-3:] == [97, 98, 99]
        assert (offset_at(client, topic, EARLIEST), offset_at(client, topic, LATEST)) == (0, 100)


def test_cleaned_offset_is_written_down_as_kafka_does(tmp_path: Path) -> None:
    with a_node(tmp_path) as (_, client):
        topic = create_topic(client, "t", **COMPACTED)
        put(client, topic, 100)

        offset = until_cleaned(tmp_path)

        assert (tmp_path / CLEANER_OFFSETS).read_text() == f"0\n1\nt 0 {offset}\n"
        assert (tmp_path / "t-0" / f"{offset:020d}.log").exists()


def test_next_start_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    with a_node(tmp_path) as (_, client):
        topic = create_topic(client, "t", **COMPACTED)
        put(client, topic, 100)
        until_cleaned(tmp_path)

    with a_node(tmp_path) as (node, client):
        (home,) = node.call(lambda: node.node.broker.replicas.directories)
        assert home.cleaner_offsets[TopicPartition("t", 0)] > 80
        put(client, topic, 50, start=100)

        eventually(is_compacted(client, topic))
        assert offsets(client, topic)[-1] == 149


def test_topic_that_deletes_keeps_every_record(tmp_path: Path) -> None:
    with a_node(tmp_path) as (_, client):
        kept = create_topic(client, "kept", **{**COMPACTED, "cleanup_policy": "delete"})
        other = create_topic(client, "other", **COMPACTED)
        put(client, kept, 40)
        put(client, other, 100)

        eventually(is_compacted(client, other))

        assert offsets(client, kept) == list(range(40))


def test_cleaner_that_is_switched_off_does_nothing(tmp_path: Path) -> None:
    with a_node(tmp_path, log_cleaner_enable=False) as (_, client):
        topic = create_topic(client, "t", **COMPACTED)
        put(client, topic, 50)

    with a_node(tmp_path) as (_, client):
        assert not (tmp_path / CLEANER_OFFSETS).exists()
        eventually(is_compacted(client, topic))


def test_disk_in_memory_is_compacted_too() -> None:
    node = RunningNode(Path("/data"), SETTINGS, disk=MemoryDisk())
    with node, WireClient(node.address) as client:
        topic = create_topic(client, "t", **COMPACTED)
        put(client, topic, 60)

        eventually(is_compacted(client, topic))


# Interruptions ---------------------------------------------------------------------------------


def the_worker(node: RunningNode) -> CompactionProcess:
    worker = node.node.cleaner.worker
    assert isinstance(worker, CompactionProcess)
    return worker


def until_it_works(node: RunningNode) -> int:
    """The pid of the process that compacts, once there is one."""

    def look() -> int:
        process = the_worker(node).process
        assert process is not None
        return process.pid

    return eventually(look)


def uncleanable(node: RunningNode) -> set[str]:
    return node.call(lambda: {str(partition.name) for partition in node.node.cleaner.uncleanable})


def test_stop_does_not_wait_for_a_round(tmp_path: Path) -> None:
    # At this speed the round would take minutes.
    with a_node(tmp_path, log_cleaner_io_max_bytes_per_second=100.0) as (node, client):
        topic = create_topic(client, "t", **COMPACTED)
        put(client, topic, 100)
        pid = until_it_works(node)

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with a_node(tmp_path, log_cleaner_enable=False) as (_, client):
        assert not list((tmp_path / "t-0").glob("*.cleaned"))
        assert offsets(client, topic) == list(range(100))


def test_topic_that_is_deleted_meanwhile_is_forgotten_and_others_go_on(tmp_path: Path) -> None:
    with a_node(tmp_path, log_cleaner_io_max_bytes_per_second=20_000.0) as (node, client):
        doomed = create_topic(client, "doomed", **COMPACTED)
        put(client, doomed, 100)
        until_it_works(node)

        delete_topic(client, doomed)
        topic = create_topic(client, "t", **COMPACTED)
        put(client, topic, 60)

        eventually(is_compacted(client, topic))
        assert node.call(lambda: node.node.broker.replicas.directories[0].is_online)


def test_log_with_damage_is_left_alone_and_others_are_compacted(tmp_path: Path) -> None:
    with a_node(tmp_path, log_cleaner_enable=False) as (_, client):
        damaged = create_topic(client, "damaged", **COMPACTED)
        sound = create_topic(client, "sound", **COMPACTED)
        put(client, damaged, 60)
        put(client, sound, 60)
    segment = tmp_path / "damaged-0" / f"{0:020d}.log"
    with segment.open("r+b") as file:
        file.seek(100)
        file.write(b"!")
    content = segment.read_bytes()

    with a_node(tmp_path) as (node, client):
        eventually(is_compacted(client, sound))

        assert uncleanable(node) == {"damaged-0"}
        assert segment.read_bytes() == content
        put(client, damaged, 1)


def test_worker_that_is_killed_costs_one_log_its_compaction_and_nothing_else(
    tmp_path: Path,
) -> None:
    with a_node(tmp_path, log_cleaner_io_max_bytes_per_second=20_000.0) as (node, client):
        topic = create_topic(client, "t", **COMPACTED)
        put(client, topic, 100)

        os.kill(until_it_works(node), signal.SIGKILL)
        other = create_topic(client, "other", **COMPACTED)
        put(client, other, 60)

        eventually(is_compacted(client, other))
        put(client, topic, 1, start=100)
        assert uncleanable(node) == {"t-0"}


def test_process_is_gone_when_there_is_nothing_to_do(tmp_path: Path) -> None:
    with a_node(tmp_path) as (node, client):
        topic = create_topic(client, "t", **COMPACTED)
        put(client, topic, 100)
        eventually(is_compacted(client, topic))

        def look() -> None:
            assert the_worker(node).process is None

        eventually(look)


def test_log_whose_keys_do_not_fit_into_memory_is_left_alone(tmp_path: Path) -> None:
    with a_node(tmp_path, log_cleaner_dedupe_buffer_size=(1 << 20) + 1) as (node, client):
        topic = create_topic(client, "large", **{**COMPACTED, "internal_segment_bytes": 700_000})
        keys = [b"%d" % number for number in range(40_000)]
        records = [Record(timestamp=NOW, key=key, value=b"v") for key in keys]
        for _ in range(2):
            answer = client.ask(a_produce(topic, build_batch(records)))
            assert partition_of(answer).error_code == 0, answer
        other = create_topic(client, "t", **COMPACTED)
        put(client, other, 100)

        eventually(is_compacted(client, other))
        assert uncleanable(node) == {"large-0"}
