"""Landmarks: after a crash only what stands behind the last one is read again."""

from random import Random

import pytest

from klamm.log import log as log_module
from klamm.log import recovery
from klamm.log.log import Log
from klamm.log.recovery import Recovered
from klamm.testing.disk import Loss, MemoryDisk
from log.samples import (
    DIRECTORY,
    NOW,
    a_batch,
    a_log,
    append,
    append_all,
    end_transaction,
    flush,
    settings,
    values_of,
)

SIZE = len(a_batch(b"v"))
# An entry in the index for every batch but the first.
DENSE = settings(index_interval_bytes=0)


@pytest.fixture(autouse=True)
def _small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Landmarks stand at least ten batches apart."""
    monkeypatch.setattr(log_module, "LANDMARK_BYTES", 10 * SIZE)
    monkeypatch.setattr(recovery, "REREAD_BYTES", 2 * SIZE)


def a_log_with_landmark(disk: MemoryDisk, *, at: int = 10, synced: int = 15, end: int = 18) -> Log:
    log = a_log(disk, DENSE)
    append_all(log, *[b"v"] * at, epoch=3)
    flush(log)
    append_all(log, *[b"v"] * (synced - at), epoch=4)
    flush(log)
    append_all(log, *[b"v"] * (end - synced), epoch=5)
    return log


def snapshots(disk: MemoryDisk) -> list[int]:
    return [int(name[:20]) for name in disk.listdir(DIRECTORY) if name.endswith(".snapshot")]


def flip(disk: MemoryDisk, position: int) -> None:
    file = disk.open(f"{DIRECTORY}/{0:020d}.log")
    file.pwrite(bytes([file.pread(1, position)[0] ^ 1]), position)


def test_what_stands_before_the_landmark_is_not_read_again():
    disk = MemoryDisk()
    a_log_with_landmark(disk)

    log = a_log(disk, DENSE, recovery_point=15)

    assert log.recovered == Recovered(scanned_bytes=8 * SIZE)
    assert values_of(log) == dict.fromkeys(range(18), b"v")
    assert [(each.epoch, each.start_offset) for each in log.epochs.entries] == [
        (3, 0),
        (4, 10),
        (5, 15),
    ]


def test_a_log_goes_on_behind_a_landmark_as_if_it_had_been_read_from_the_start():
    disk = MemoryDisk()
    a_log_with_landmark(disk)
    naive = disk.fork()

    logs = [a_log(disk, DENSE, recovery_point=15), a_log(naive, DENSE)]
    for log in logs:
        append_all(log, b"w", b"x")
        log.close(0)

    assert logs[1].recovered.scanned_bytes == 18 * SIZE
    for suffix in (".log", ".index", ".timeindex"):
        path = f"{DIRECTORY}/{0:020d}{suffix}"
        assert disk.read(path) == naive.read(path)


def test_producers_and_aborted_transactions_are_known_from_both_sides_of_the_landmark():
    disk = MemoryDisk()
    log = a_log(disk, DENSE)
    for sequence in range(8):
        append(log, a_batch(b"v", producer=(7, 0, sequence)))
    append(log, a_batch(b"v", producer=(8, 0, 0), transactional=True))
    append(log, a_batch(b"v", producer=(9, 0, 0), transactional=True))
    end_transaction(log, 8, abort=True)
    flush(log)
    end_transaction(log, 9, abort=True)
    append(log, a_batch(b"v", producer=(7, 0, 8)))
    append_all(log, *[b"v"] * 5)
    flush(log)

    again = a_log(disk, DENSE, recovery_point=log.recovery_point)

    assert again.recovered.scanned_bytes < log.size_bytes() - 10 * SIZE
    assert again.aborted_transactions(0, again.end_offset) == [(8, 8), (9, 9)]
    assert again.first_unstable_offset is None
    assert append(again, a_batch(b"v", producer=(7, 0, 8))).duplicate
    assert not append(again, a_batch(b"v", producer=(7, 0, 9))).duplicate


def test_a_transaction_that_ended_where_the_segment_begins_is_known():
    disk = MemoryDisk()
    log = a_log(disk, DENSE)
    append(log, a_batch(b"v", producer=(8, 0, 0), transactional=True))
    log.roll(0)
    end_transaction(log, 8, abort=True)
    append_all(log, *[b"v"] * 10)
    flush(log)
    append_all(log, *[b"v"] * 5)

    again = a_log(disk, DENSE, recovery_point=log.recovery_point)

    assert again.recovered.scanned_bytes == 5 * SIZE
    assert again.aborted_transactions(0, again.end_offset) == [(8, 0)]


def test_an_entry_of_a_later_transaction_that_a_crash_has_torn_is_not_taken_for_an_earlier_one():
    disk = MemoryDisk()
    log = a_log_with_landmark(disk)
    append(log, a_batch(b"v", producer=(8, 0, 0), transactional=True))
    end_transaction(log, 8, abort=True)
    path = f"{DIRECTORY}/{0:020d}.txnindex"
    disk.write(path, bytes(disk.file_size(path)))

    again = a_log(disk, DENSE, recovery_point=15)

    assert again.recovered.scanned_bytes < 15 * SIZE
    assert again.aborted_transactions(0, again.end_offset) == [(8, 18)]


def test_one_that_was_not_safe_is_not_used():
    disk = MemoryDisk()
    a_log_with_landmark(disk)

    assert a_log(disk, DENSE, recovery_point=9).recovered.scanned_bytes == 18 * SIZE


def test_one_that_stands_near_the_end_is_not_used():
    """Clients may send their last batches again, of which a snapshot knows only one."""
    disk = MemoryDisk()
    a_log_with_landmark(disk, at=17, synced=18)

    assert a_log(disk, DENSE, recovery_point=18).recovered.scanned_bytes == 18 * SIZE


@pytest.mark.parametrize("kind", [".snapshot", ".index"])
def test_without_its_files_everything_is_read(kind: str):
    disk = MemoryDisk()
    a_log_with_landmark(disk)
    (name,) = [each for each in disk.listdir(DIRECTORY) if each.endswith(kind)]
    disk.write(f"{DIRECTORY}/{name}", b"")

    log = a_log(disk, DENSE, recovery_point=15)

    assert log.recovered.scanned_bytes == 18 * SIZE
    assert values_of(log) == dict.fromkeys(range(18), b"v")


def test_times_are_found_though_a_crash_took_their_index():
    """It is written anew by the first landmark after a start, and an older landmark is there meanwhile."""
    disk = MemoryDisk()
    log = a_log(disk, DENSE)
    for number in range(12):
        append(log, a_batch(b"v", at=NOW + 100 - number))
    flush(log)
    append_all(log, *[b"v"] * 5)
    disk.write(f"{DIRECTORY}/{0:020d}.timeindex", b"")

    again = a_log(disk, DENSE, recovery_point=12)

    assert again.recovered.scanned_bytes == 5 * SIZE
    newest = again.max_timestamp()
    assert newest is not None
    assert (newest.offset, newest.timestamp) == (0, NOW + 100)


def test_a_landmark_is_synced_with_what_stands_before_it():
    disk = MemoryDisk()
    a_log_with_landmark(disk, at=12, synced=12, end=15)
    disk.fork().crash(Random(0), Loss.NOTHING)

    assert a_log(disk, DENSE, recovery_point=12).recovered.scanned_bytes == 3 * SIZE
    disk.crash(Random(0), Loss.ALL)
    assert snapshots(disk) == [12]
    assert disk.file_size(f"{DIRECTORY}/{0:020d}.index") == 11 * 8


def test_damage_behind_a_landmark_is_reported_and_what_is_torn_is_cut():
    disk = MemoryDisk()
    a_log_with_landmark(disk)
    flip(disk, 12 * SIZE - 1)
    flip(disk, 17 * SIZE - 1)

    log = a_log(disk, DENSE, recovery_point=15)

    assert log.recovered.damaged == (11,)
    assert log.end_offset == 16


def test_two_landmarks_are_kept_and_none_twice_in_little_space():
    disk = MemoryDisk()
    log = a_log(disk, DENSE)
    for _ in range(5):
        append_all(log, *[b"v"] * 10)
        flush(log)
        append_all(log, b"v")
        flush(log)

    assert snapshots(disk) == [43, 54]


def test_a_landmark_where_a_segment_begins_stays_with_the_segment():
    disk = MemoryDisk()
    log = a_log(disk, DENSE)
    append_all(log, *[b"v"] * 10)
    flush(log)
    log.roll(0)
    for _ in range(3):
        append_all(log, *[b"v"] * 10)
        flush(log)

    assert snapshots(disk) == [10, 30, 40]


def test_a_landmark_above_the_cut_goes_with_what_was_cut():
    disk = MemoryDisk()
    log = a_log_with_landmark(disk)

    log.truncate_to(5)
    append_all(log, *[b"w"] * 20)
    flush(log)

    assert snapshots(disk) == [25]
    again = a_log(disk, DENSE, recovery_point=log.recovery_point)
    assert values_of(again) == dict.fromkeys(range(5), b"v") | dict.fromkeys(range(5, 25), b"w")


def test_there_is_none_where_a_flush_that_began_before_may_end():
    """It would end as if the landmark had been among its files."""
    disk = MemoryDisk()
    log = a_log(disk, DENSE)
    append_all(log, *[b"v"] * 9)
    first = log.begin_flush()
    assert first is not None
    first.end_offset = 10
    append_all(log, b"v")

    log.begin_flush()

    assert snapshots(disk) == []
