"""The logs of a broker over its directories: where they are, and what becomes of one that is damaged."""

import pytest

from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.results import DamagedLog
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.storage.log_directories import LogDirectory
from klamm.storage.log_manager import LogManager
from klamm.testing.disk import MemoryDisk

NOW = 1_750_000_000_000
PATH = "/data"
DIRECTORY_ID = Uuid(bytes(range(16)))
TOPIC_ID = Uuid(bytes(range(1, 17)))
ORDERS = TopicPartition("orders", 0)


def a_manager(disk: MemoryDisk) -> LogManager:
    manager = LogManager([LogDirectory(disk, PATH, DIRECTORY_ID)], producer_expiry_ms=86_400_000)
    manager.find_all()
    return manager


def a_disk_with_a_damaged_log(damage_at: int) -> MemoryDisk:
    """Three batches that were safe on disk; a byte of one of them is another now."""
    disk = MemoryDisk()
    disk.mkdir(PATH)
    manager = a_manager(disk)
    log = manager.open(ORDERS, TOPIC_ID, TopicSettings(), NOW)
    for _ in range(3):
        batch = build_batch([Record(timestamp=NOW, value=b"v")])
        log.append(batch, leader_epoch=0, now=NOW)
    flush = log.begin_flush()
    assert flush is not None
    flush.run()
    log.end_flush(flush)
    (directory,) = manager.directories
    points = directory.new_recovery_points()
    assert points is not None
    points.write()
    file = disk.open(f"{PATH}/{ORDERS}/{0:020d}.log")
    byte = file.pread(1, damage_at)
    file.pwrite(bytes([byte[0] ^ 1]), damage_at)
    return disk


LENGTH_OF_THE_FIRST, A_RECORD_OF_THE_FIRST = 10, 65


@pytest.mark.parametrize("place", [LENGTH_OF_THE_FIRST, A_RECORD_OF_THE_FIRST])
def test_a_damaged_log_is_set_aside_where_another_broker_has_it(place: int) -> None:
    disk = a_disk_with_a_damaged_log(place)
    manager = a_manager(disk)

    log = manager.open(ORDERS, TOPIC_ID, TopicSettings(), NOW, has_leader=True)

    (told,) = manager.take_damaged()
    (aside,) = [each for each in disk.listdir(PATH) if each.endswith("-stray")]
    assert (log.start_offset, log.end_offset) == (0, 0)
    assert log.recovery_point == 0
    assert aside in told
    assert disk.file_size(f"{PATH}/{aside}/{0:020d}.log") > 0
    assert manager.take_damaged() == []


def test_the_recovery_point_of_a_damaged_log_goes_with_it() -> None:
    manager = a_manager(a_disk_with_a_damaged_log(LENGTH_OF_THE_FIRST))

    manager.open(ORDERS, TOPIC_ID, TopicSettings(), NOW, has_leader=True)

    (directory,) = manager.directories
    assert [each.offsets for each in directory.outdated_checkpoints()] == [{}]


def test_the_last_replica_is_left_as_it_is() -> None:
    disk = a_disk_with_a_damaged_log(LENGTH_OF_THE_FIRST)
    manager = a_manager(disk)

    with pytest.raises(DamagedLog):
        manager.open(ORDERS, TOPIC_ID, TopicSettings(), NOW)

    assert not any(each.endswith("-stray") for each in disk.listdir(PATH))


def test_damaged_records_of_the_last_replica_are_kept() -> None:
    manager = a_manager(a_disk_with_a_damaged_log(A_RECORD_OF_THE_FIRST))

    log = manager.open(ORDERS, TOPIC_ID, TopicSettings(), NOW)

    assert (log.end_offset, log.recovered.damaged) == (3, (0,))
