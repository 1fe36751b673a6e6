"""Compaction takes records away, but not what is known of the times of those that stay."""

from klamm.log.log import Log
from klamm.testing.disk import MemoryDisk
from log.compaction.rounds import clean, compacted, put
from log.samples import NOW

DIRECTORY = "/data/orders-0"


def a_log(disk: MemoryDisk) -> Log:
    disk.mkdir("/data")
    return Log.open(disk, DIRECTORY, compacted(), now=NOW, clean=False)


def test_record_that_stayed_is_found_by_its_time_without_a_restart():
    disk = MemoryDisk()
    log = a_log(disk)
    put(log, (b"old", b"1"), at=NOW - 10)
    put(log, (b"gone", b"1"), at=NOW)
    put(log, (b"kept", b"1"), at=NOW + 5)
    log.roll(NOW)
    put(log, (b"gone", b"2"), at=NOW + 1)
    log.roll(NOW)

    clean(disk, log, compacted())

    found = log.offset_for_timestamp(NOW)
    assert found is not None
    assert (found.timestamp, found.offset) == (NOW + 5, 2)
    newest = log.max_timestamp()
    assert newest is not None
    assert (newest.timestamp, newest.offset) == (NOW + 5, 2)


def test_copy_is_as_old_as_the_newest_of_its_originals():
    disk = MemoryDisk()
    log = a_log(disk)
    disk.now_ms = 1_000
    put(log, (b"gone", b"1"))
    log.roll(NOW)
    disk.now_ms = 2_000
    put(log, (b"gone", b"2"))
    log.roll(NOW)
    disk.now_ms = 3_000
    put(log, (b"gone", b"3"))

    clean(disk, log, compacted())

    assert disk.modified_ms(f"{DIRECTORY}/{0:020d}.log") == 2_000
