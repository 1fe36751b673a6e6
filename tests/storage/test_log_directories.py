"""One data directory: what lies in it, and the files at its root that remember how far the logs were."""

from collections.abc import Sequence

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    read_offsets,
    write_offsets,
)
from klamm.log.flush import Flush
from klamm.log.log import Log
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.storage.log_directories import LogDirectory, least_used
from klamm.testing.disk import MemoryDisk

NOW = 1_750_000_000_000
PATH = "/data"
DIRECTORY_ID = Uuid(bytes(range(16)))
TOPIC_ID = Uuid(bytes(range(1, 17)))
ORDERS = TopicPartition("orders", 0)
MARKER = f"{PATH}/.kafka_cleanshutdown"


def a_disk() -> MemoryDisk:
    disk = MemoryDisk()
    disk.mkdir(PATH)
    return disk


def a_directory(disk: MemoryDisk | None = None) -> LogDirectory:
    return LogDirectory(disk or a_disk(), PATH, DIRECTORY_ID)


def open_log(directory: LogDirectory, name: TopicPartition = ORDERS) -> Log:
    return directory.open(
        name, TopicSettings(), topic_id=TOPIC_ID, now=NOW, producer_expiry_ms=86_400_000
    )


def append(log: Log, count: int = 1) -> None:
    batch = build_batch([Record(timestamp=NOW, value=b"v")] * count)
    log.append(batch, leader_epoch=0, now=NOW)


def one_by_one(flushes: Sequence[Flush]) -> None:
    for flush in flushes:
        flush.run()


def close(directory: LogDirectory, high_watermarks: dict[TopicPartition, int]) -> None:
    directory.close(high_watermarks, now=NOW, broker_epoch=42, run=one_by_one)


def test_partitions_are_told_from_everything_else() -> None:
    disk = a_disk()
    for name in (
        "orders-0",
        "orders-12",
        "with-dash-3",
        "with.dot-0",
        "__cluster_metadata-0",
        "orders-1.0123-delete",
        "orders-2.0123-stray",
        "orders-3.0123-future",
        "no_number",
        "no-number",
        "orders-²",
    ):
        disk.mkdir(f"{PATH}/{name}")

    assert a_directory(disk).partitions_on_disk() == {
        TopicPartition("orders", 0),
        TopicPartition("orders", 12),
        TopicPartition("with-dash", 3),
        TopicPartition("with.dot", 0),
    }


def test_a_clean_stop_is_believed_once() -> None:
    disk = a_disk()
    close(a_directory(disk), {})

    assert disk.read(MARKER) == b'{"version":0,"brokerEpoch":42}'
    assert a_directory(disk).was_clean
    assert not a_directory(disk).was_clean


def test_all_checkpoints_are_written_at_the_end_and_found_at_the_start() -> None:
    disk = a_disk()
    directory = a_directory(disk)
    append(open_log(directory), 3)
    directory.logs[ORDERS].advance_start(2)

    close(directory, {ORDERS: 3})

    again = a_directory(disk)
    assert again.recovery_points == {ORDERS: 3}
    assert again.high_watermarks == {ORDERS: 3}
    assert again.log_starts == {ORDERS: 2}
    log = open_log(again)
    assert (log.start_offset, log.end_offset) == (2, 3)


def test_logs_are_closed_some_at_a_time_so_that_files_do_not_run_out() -> None:
    disk = a_disk()
    directory = a_directory(disk)
    for index in range(600):
        append(open_log(directory, TopicPartition("orders", index)))
    at_once = []

    def run(flushes: Sequence[Flush]) -> None:
        at_once.append(len(flushes))
        one_by_one(flushes)

    directory.close({}, now=NOW, broker_epoch=42, run=run)

    assert sum(at_once) == 600
    assert max(at_once) <= 256
    assert set(read_offsets(disk, f"{PATH}/{RECOVERY_POINTS}").values()) == {1}


def test_only_what_changed_is_worth_writing() -> None:
    directory = a_directory()
    append(open_log(directory))

    first = directory.new_high_watermarks({ORDERS: 1})
    again = directory.new_high_watermarks({ORDERS: 1})
    moved = directory.new_high_watermarks({ORDERS: 2})

    assert first is not None
    assert again is None
    assert moved is not None
    assert moved.offsets == {ORDERS: 2}


def test_recovery_points_move_only_with_what_was_synced() -> None:
    directory = a_directory()
    log = open_log(directory)
    append(log, 5)
    assert directory.new_recovery_points() is None

    sync(log)

    checkpoint = directory.new_recovery_points()
    assert checkpoint is not None
    checkpoint.write()
    assert read_offsets(directory.disk, f"{PATH}/{RECOVERY_POINTS}") == {ORDERS: 5}


def sync(log: Log) -> None:
    flush = log.begin_flush()
    assert flush is not None
    flush.run()
    log.end_flush(flush)


def test_a_log_that_was_emptied_has_no_recovery_point() -> None:
    """Zero would mean that nobody knows, and a hole that a crash leaves in it would pass for compaction."""
    directory = a_directory()
    log = open_log(directory)
    append(log, 5)
    sync(log)
    directory.new_recovery_points()

    log.truncate_to(0)

    checkpoint = directory.new_recovery_points()
    assert checkpoint is not None
    assert checkpoint.offsets == {}


def test_a_recovery_point_that_another_broker_did_not_know_stays_unknown() -> None:
    disk = a_disk()
    disk.mkdir(f"{PATH}/{ORDERS}")
    write_offsets(disk, f"{PATH}/{RECOVERY_POINTS}", {ORDERS: 0})
    directory = a_directory(disk)
    open_log(directory)

    assert directory.new_recovery_points() is None
    assert directory.recovery_points == {ORDERS: 0}


def test_log_starts_are_listed_only_where_the_file_names_do_not_tell() -> None:
    directory = a_directory()
    log = open_log(directory)
    append(log, 3)
    assert directory.new_log_starts() is None

    log.advance_start(1)

    checkpoint = directory.new_log_starts()
    assert checkpoint is not None
    checkpoint.write()
    assert read_offsets(directory.disk, f"{PATH}/{LOG_STARTS}") == {ORDERS: 1}


def test_what_recovery_cut_off_does_not_count_as_compacted() -> None:
    disk = a_disk()
    append(open_log(a_directory(disk)), 5)
    write_offsets(disk, f"{PATH}/{CLEANER_OFFSETS}", {ORDERS: 8})

    directory = a_directory(disk)
    open_log(directory)
    for checkpoint in directory.outdated_checkpoints():
        checkpoint.write()

    assert read_offsets(disk, f"{PATH}/{CLEANER_OFFSETS}") == {ORDERS: 5}


def test_a_log_that_is_forgotten_is_in_no_checkpoint() -> None:
    directory = a_directory()
    append(open_log(directory))
    directory.new_high_watermarks({ORDERS: 1})

    directory.forget(ORDERS)

    checkpoint = directory.new_high_watermarks({})
    assert (directory.logs, directory.recovery_points) == ({}, {})
    assert checkpoint is None or checkpoint.offsets == {}
    close(directory, {})
    assert read_offsets(directory.disk, f"{PATH}/{HIGH_WATERMARKS}") == {}


def test_a_partition_made_again_does_not_begin_at_the_old_ones_offsets() -> None:
    disk = a_disk()
    directory = a_directory(disk)
    append(open_log(directory), 5)
    directory.logs[ORDERS].advance_start(4)
    directory.new_log_starts()
    old = directory.forget(ORDERS)
    assert old is not None
    old.delete()

    new = open_log(directory)

    assert (new.start_offset, new.end_offset) == (0, 0)


def test_a_deletion_that_was_interrupted_is_finished() -> None:
    disk = a_disk()
    directory = a_directory(disk)
    append(open_log(directory))
    deleted = directory.logs[ORDERS].delete()
    assert disk.exists(deleted)

    a_directory(disk).remove_deleted()

    assert not disk.exists(deleted)


@pytest.mark.parametrize("topic", ["orders", "x" * 249])
def test_a_stray_directory_is_set_aside_with_what_it_holds(topic: str) -> None:
    disk = a_disk()
    directory = a_directory(disk)
    name = TopicPartition(topic, 0)
    append(open_log(directory, name))
    directory.forget(name)

    aside = directory.set_aside(name)

    assert aside.endswith("-stray")
    # As long as a file name may be.
    assert len(aside.rpartition("/")[2]) <= 255
    assert disk.exists(aside)
    assert directory.partitions_on_disk() == set()


def test_a_second_stray_of_the_same_name_does_not_replace_the_first() -> None:
    disk = a_disk()
    asides = []
    for _ in range(2):
        directory = a_directory(disk)
        append(open_log(directory))
        directory.forget(ORDERS)
        asides.append(directory.set_aside(ORDERS))

    assert len(set(asides)) == 2
    assert all(map(disk.exists, asides))


def test_a_failed_directory_is_left_as_it_is() -> None:
    disk = a_disk()
    directory = a_directory(disk)
    open_log(directory)
    directory.failure = OSError("broken")

    close(directory, {ORDERS: 7})

    assert not disk.exists(MARKER)
    assert not disk.exists(f"{PATH}/{HIGH_WATERMARKS}")


def test_new_partitions_go_where_the_fewest_are() -> None:
    full, empty, broken = a_directory(), a_directory(), a_directory()
    open_log(full)
    broken.failure = OSError("broken")

    assert least_used([full, empty, broken]) is empty
    assert least_used([full, broken]) is full


def test_without_a_directory_there_is_no_place_for_a_partition() -> None:
    broken = a_directory()
    broken.failure = OSError("broken")

    with pytest.raises(ApiError) as refused:
        least_used([broken])

    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_log_that_lost_its_middle_before_the_first_checkpoint_ends_there() -> None:
    """Found by a simulated power failure: of three segments that nobody had synced, the first and the last survived."""
    disk = a_disk()
    settings = TopicSettings(segment_bytes=80)
    made = {"settings": settings, "topic_id": TOPIC_ID, "now": NOW, "producer_expiry_ms": 1}
    log = a_directory(disk).open(ORDERS, **made)  # type: ignore[arg-type]
    for _ in range(3):
        append(log)
    for name in [each for each in disk.listdir(log.directory) if each.startswith(f"{1:020d}")]:
        disk.remove(f"{log.directory}/{name}")

    log = a_directory(disk).open(ORDERS, **made)  # type: ignore[arg-type]

    assert (log.start_offset, log.end_offset) == (0, 1)


def test_holes_are_left_alone_where_nobody_ever_wrote_down_how_far_logs_were_safe() -> None:
    disk = a_disk()
    settings = TopicSettings(segment_bytes=80)
    made = {"settings": settings, "topic_id": TOPIC_ID, "now": NOW, "producer_expiry_ms": 1}
    log = a_directory(disk).open(ORDERS, **made)  # type: ignore[arg-type]
    for _ in range(3):
        append(log)
    for name in [each for each in disk.listdir(log.directory) if each.startswith(f"{1:020d}")]:
        disk.remove(f"{log.directory}/{name}")
    disk.remove(f"{PATH}/{RECOVERY_POINTS}")

    log = a_directory(disk).open(ORDERS, **made)  # type: ignore[arg-type]

    assert log.end_offset == 3
