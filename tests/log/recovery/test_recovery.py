"""Opening a log: after a clean stop without reading it, after a crash with nothing lost that was safe."""

from random import Random

import pytest

from klamm.log.disk import File
from klamm.log.log import Log
from klamm.log.recovery import Recovered
from klamm.log.results import DamagedLog
from klamm.testing.disk import MemoryDisk
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
SMALL = settings(segment_bytes=2 * SIZE, index_interval_bytes=0)
FIVE = dict.fromkeys(range(5), b"v")


def path(base: int, suffix: str = ".log") -> str:
    return f"{DIRECTORY}/{base:020d}{suffix}"


def names(disk: MemoryDisk, suffix: str) -> list[str]:
    return [name for name in disk.listdir(DIRECTORY) if name.endswith(suffix)]


def file_of(disk: MemoryDisk, base: int) -> File:
    return disk.open(path(base))


def flip(disk: MemoryDisk, base: int, position: int) -> None:
    file = file_of(disk, base)
    byte = file.pread(1, position)[0]
    file.pwrite(bytes([byte ^ 1]), position)
    file.fsync()


class CountingDisk(MemoryDisk):
    """Counts the bytes of log files that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def open(self, path: str, create: bool = False):
        self.opened.append(path)
        return super().open(path, create)


def a_stopped_log(disk: MemoryDisk, chosen=SMALL) -> Log:
    """Five records, 0 to 4, in segments 0, 2 and 4."""
    log = a_log(disk, chosen)
    append_all(log, *[b"v"] * 5, epoch=3)
    log.close(NOW)
    return log


# After a clean stop


def test_a_clean_start_finds_everything_and_goes_on():
    disk = MemoryDisk()
    a_stopped_log(disk)

    log = a_log(disk, SMALL, clean=True)

    assert log.recovered == Recovered()
    assert (log.start_offset, log.end_offset, log.recovery_point) == (0, 5, 5)
    assert log.epochs.entries == ((3, 0),)
    append_all(log, b"w")
    assert values_of(log) == FIVE | {5: b"w"}


def test_a_clean_start_opens_no_segment_but_the_last():
    disk = CountingDisk()
    a_stopped_log(disk)
    disk.opened.clear()

    a_log(disk, SMALL, clean=True)

    assert set(disk.opened) <= {path(4), path(4, ".index")}


def test_a_clean_stop_of_an_untouched_log_writes_nothing():
    disk = MemoryDisk()
    a_stopped_log(disk)
    log = a_log(disk, SMALL, clean=True)

    disk.fail("pwrite")
    disk.fail("fsync")

    log.close(NOW)


def test_a_clean_stop_survives_a_power_failure():
    for seed in range(20):
        disk = MemoryDisk()
        a_stopped_log(disk)
        disk.crash(Random(seed))

        assert values_of(a_log(disk, SMALL, clean=True)) == FIVE


def test_indexes_that_somebody_removed_are_built_again():
    disk = MemoryDisk()
    chosen = settings(segment_bytes=20_000, index_interval_bytes=0)
    log = a_log(disk, chosen)
    append_all(log, *[b"v" * 100] * 400)
    log.close(NOW)
    for suffix in (".index", ".timeindex"):
        for name in names(disk, suffix):
            disk.remove(f"{DIRECTORY}/{name}")

    log = a_log(disk, chosen, clean=True)

    assert log.end_offset == 400
    assert all(min(values_of(log, start=offset)) == offset for offset in range(0, 400, 7))
    assert log.offset_for_timestamp(NOW) is not None


def test_a_log_that_does_not_end_with_a_batch_was_not_stopped_cleanly():
    disk = MemoryDisk()
    a_stopped_log(disk)
    file = file_of(disk, 4)
    file.pwrite(b"torn", file.size())

    log = a_log(disk, SMALL, clean=True)

    assert log.recovered.cut_bytes == 4
    assert values_of(log) == FIVE


def test_a_missing_epoch_file_is_read_from_the_batches():
    disk = MemoryDisk()
    a_stopped_log(disk)
    disk.write(f"{DIRECTORY}/leader-epoch-checkpoint", b"0\n7\n")

    assert a_log(disk, SMALL, clean=True).epochs.entries == ((3, 0),)


def test_producers_are_known_after_a_restart():
    disk = MemoryDisk()
    log = a_log(disk)
    for sequence in range(3):
        append(log, a_batch(producer=(7, 0, sequence)))
    log.close(NOW)

    log = a_log(disk, clean=True)

    assert append(log, a_batch(producer=(7, 0, 2))).duplicate
    assert append(log, a_batch(producer=(7, 0, 3))).base_offset == 3


def test_producers_are_read_from_the_log_when_their_snapshot_is_lost():
    disk = MemoryDisk()
    log = a_log(disk, SMALL)
    for sequence in range(5):
        append(log, a_batch(producer=(7, 0, sequence)))
    log.close(NOW)
    for name in names(disk, ".snapshot"):
        disk.remove(f"{DIRECTORY}/{name}")

    log = a_log(disk, SMALL, clean=True)

    assert append(log, a_batch(producer=(7, 0, 2))).duplicate


def test_old_snapshots_are_removed_but_those_where_segments_begin():
    disk = MemoryDisk()
    a_stopped_log(disk)
    for _ in range(3):
        log = a_log(disk, SMALL, clean=True)
        append_all(log, b"v")
        log.close(NOW)
    a_log(disk, SMALL, clean=True)

    offsets = [int(name[:20]) for name in names(disk, ".snapshot")]
    assert offsets == [2, 4, 6, 8]


# After a crash


def crashed(disk: MemoryDisk, recovery_point: int = 0, chosen=SMALL) -> Log:
    return a_log(disk, chosen, clean=False, recovery_point=recovery_point)


def test_a_crash_without_loss_loses_nothing():
    disk = MemoryDisk()
    log = a_log(disk, SMALL)
    append_all(log, *[b"v"] * 5, epoch=3)
    flush(log)

    log = crashed(disk)

    assert values_of(log) == FIVE
    assert log.epochs.entries == ((3, 0),)
    assert log.recovered.cut_bytes == 0
    append_all(log, b"w", epoch=3)
    assert values_of(log) == FIVE | {5: b"w"}


@pytest.mark.parametrize("keep", [0, 1, 30, 60, 61, SIZE - 1])
def test_a_torn_last_batch_is_cut(keep: int):
    disk = MemoryDisk()
    a_stopped_log(disk)
    file_of(disk, 4).truncate(keep)

    log = crashed(disk)

    assert values_of(log) == dict.fromkeys(range(4), b"v")
    assert (log.end_offset, log.recovered.cut_bytes) == (4, keep)


def test_a_hole_of_zeros_is_cut():
    disk = MemoryDisk()
    a_stopped_log(disk)
    file_of(disk, 4).pwrite(bytes(100), SIZE)

    assert values_of(crashed(disk)) == FIVE


def test_everything_behind_the_first_bad_batch_goes():
    disk = MemoryDisk()
    a_stopped_log(disk)
    flip(disk, 2, SIZE - 1)

    log = crashed(disk)

    assert values_of(log) == {0: b"v", 1: b"v"}
    assert names(disk, ".log") == [f"{0:020d}.log", f"{2:020d}.log"]
    append_all(log, b"w")
    assert values_of(log) == {0: b"v", 1: b"v", 2: b"w"}


def test_segments_below_the_recovery_point_are_not_read():
    disk = MemoryDisk()
    a_stopped_log(disk)
    flip(disk, 0, SIZE - 1)

    log = crashed(disk, recovery_point=4)

    assert log.recovered == Recovered(scanned_bytes=SIZE)
    assert log.end_offset == 5


def test_damage_below_the_recovery_point_is_reported_and_not_cut():
    disk = MemoryDisk()
    a_stopped_log(disk)
    flip(disk, 2, SIZE - 1)

    log = crashed(disk, recovery_point=3)

    assert log.recovered.damaged == (2,)
    assert (log.end_offset, log.recovered.cut_bytes) == (5, 0)


def test_damage_below_the_recovery_point_that_hides_what_follows_is_an_alarm():
    disk = MemoryDisk()
    a_stopped_log(disk)
    flip(disk, 2, 8)  # the length: the next batch cannot be found
    content = disk.read(path(2))

    with pytest.raises(DamagedLog):
        crashed(disk, recovery_point=4 - 1)

    assert disk.read(path(2)) == content


def test_a_lost_tail_of_one_segment_takes_the_next_ones_along():
    """Else the log would have a hole, and the offsets in it would never come."""
    disk = MemoryDisk()
    a_stopped_log(disk)
    file_of(disk, 2).truncate(SIZE)

    assert list(values_of(crashed(disk, recovery_point=2))) == [0, 1, 2]


@pytest.mark.parametrize(
    ("policy", "recovery_point"), [(("compact",), 2), (("compact", "delete"), 2), (("delete",), 0)]
)
def test_a_hole_that_compaction_may_have_left_is_kept(policy: tuple[str, ...], recovery_point: int):
    disk = MemoryDisk()
    a_stopped_log(disk)
    file_of(disk, 2).truncate(SIZE)
    chosen = settings(cleanup_policy=policy, segment_bytes=2 * SIZE)

    log = crashed(disk, recovery_point, chosen)

    assert list(values_of(log)) == [0, 1, 2, 4]


def test_recovery_brings_back_producers_and_transactions():
    disk = MemoryDisk()
    log = a_log(disk, SMALL)
    append(log, a_batch(producer=(7, 0, 0)))
    append(log, a_batch(producer=(8, 0, 0), transactional=True))
    append(log, a_batch(producer=(9, 0, 0), transactional=True))
    end_transaction(log, 8, abort=True)
    append(log, a_batch(producer=(7, 0, 1)))
    flush(log)
    disk.crash(Random(1))

    log = crashed(disk)

    assert append(log, a_batch(producer=(7, 0, 0))).duplicate
    assert append(log, a_batch(producer=(7, 0, 1))).duplicate
    assert log.first_unstable_offset == 2
    assert log.aborted_transactions(0, log.end_offset) == [(8, 1)]


def test_files_on_their_way_out_are_removed():
    disk = MemoryDisk()
    a_stopped_log(disk)
    for name in (".log.deleted", ".index.deleted", ".log.cleaned"):
        disk.write(path(1, name), b"old")
    disk.write(f"{DIRECTORY}/leader-epoch-checkpoint.tmp", b"")
    disk.write(path(1, ".index"), b"an index without its log")

    log = crashed(disk)

    assert values_of(log) == FIVE
    assert not any(name.startswith(f"{1:020d}") for name in disk.listdir(DIRECTORY))
    assert names(disk, ".tmp") == []


def test_a_swap_that_was_under_way_is_completed():
    """The compactor had made one segment out of the first two, and renamed nothing yet."""
    disk = MemoryDisk()
    a_stopped_log(disk)
    both = disk.read(path(0)) + disk.read(path(2))
    disk.write(path(0, ".log.swap"), both)

    log = crashed(disk)

    assert values_of(log) == FIVE
    assert names(disk, ".log") == [f"{0:020d}.log", f"{4:020d}.log"]
    assert names(disk, ".swap") == []


def test_a_swap_whose_copies_were_not_complete_is_dropped():
    disk = MemoryDisk()
    a_stopped_log(disk)
    disk.write(path(2, ".log.swap"), disk.read(path(2)))
    disk.write(path(0, ".log.cleaned"), b"unfinished")

    log = crashed(disk)

    assert values_of(log) == FIVE
    assert names(disk, ".swap") == []


def test_a_start_offset_behind_the_end_begins_a_new_log_there():
    disk = MemoryDisk()
    a_stopped_log(disk)

    log = a_log(disk, SMALL, clean=True, log_start_offset=50)

    assert (log.start_offset, log.end_offset) == (50, 50)
    assert append(log, a_batch()).base_offset == 50


# Flushing


def test_a_flush_moves_the_recovery_point_when_it_has_ended():
    disk = MemoryDisk()
    log = a_log(disk)
    append_all(log, b"a")
    planned = log.begin_flush()
    assert planned is not None
    append_all(log, b"b")

    planned.run()
    assert log.recovery_point == 0
    log.end_flush(planned)
    assert log.recovery_point == 1

    flush(log)
    assert log.recovery_point == 2
    assert log.begin_flush() is None


def test_a_second_flush_may_end_before_the_first():
    for seed in range(20):
        disk = MemoryDisk()
        log = a_log(disk, SMALL)
        append_all(log, *[b"v"] * 3)
        first = log.begin_flush()
        append_all(log, *[b"v"] * 2)
        second = log.begin_flush()
        assert first is not None
        assert second is not None

        second.run()
        log.end_flush(second)
        assert log.recovery_point == 5
        disk.crash(Random(seed))

        assert values_of(crashed(disk, 5)) == FIVE


def test_what_was_flushed_survives_every_crash():
    for seed in range(50):
        disk = MemoryDisk()
        log = a_log(disk, SMALL)
        append_all(log, *[b"v"] * 5)
        flush(log)
        append_all(log, *[b"w"] * 3)
        disk.crash(Random(seed))

        kept = values_of(crashed(disk, log.recovery_point))

        assert dict(list(kept.items())[:5]) == FIVE
        assert list(kept) == list(range(len(kept)))


def test_a_flush_says_nothing_about_a_log_that_was_cut_meanwhile():
    log = a_log(MemoryDisk())
    append_all(log, b"a", b"b", b"c")
    planned = log.begin_flush()
    assert planned is not None
    log.truncate_to(1)
    append_all(log, b"x", b"y")

    planned.run()
    log.end_flush(planned)

    assert log.recovery_point == 0


def test_a_failed_flush_is_final():
    disk = MemoryDisk()
    log = a_log(disk)
    append_all(log, b"a")
    planned = log.begin_flush()
    assert planned is not None

    disk.fail("fsync")
    with pytest.raises(OSError, match="told to fail"):
        planned.run()
    disk.heal()

    with pytest.raises(AssertionError):
        log.end_flush(planned)
    again = log.begin_flush()
    assert again is not None
    with pytest.raises(OSError, match="an earlier flush failed"):
        again.run()
    assert log.recovery_point == 0


def test_a_flush_is_due_by_messages_by_time_and_after_a_roll():
    log = a_log(MemoryDisk(), settings(flush_messages=3, flush_ms=1000))
    append_all(log, b"a", b"b")
    assert not log.needs_flush(NOW)
    assert log.needs_flush(NOW + 1000)
    append_all(log, b"c")
    assert log.needs_flush(NOW)

    flush(log)
    assert not log.needs_flush(NOW + 5000)
    append_all(log, b"d")
    assert not log.needs_flush(NOW + 999)
    log.roll(NOW)
    assert log.needs_flush(NOW)


# Truncation


def test_truncation_forgets_records_epochs_and_producers():
    log = a_log(MemoryDisk(), SMALL)
    for offset in range(5):
        append(log, a_batch(producer=(7, 0, offset)), epoch=offset)

    log.truncate_to(3)

    assert list(values_of(log)) == [0, 1, 2]
    assert log.epochs.entries == ((0, 0), (1, 1), (2, 2))
    assert append(log, a_batch(producer=(7, 0, 2))).duplicate
    assert append(log, a_batch(producer=(7, 0, 3))).base_offset == 3


def test_truncation_cuts_time_and_aborted_transactions():
    log = a_log(MemoryDisk(), settings(index_interval_bytes=0))
    append(log, a_batch(at=NOW + 5, producer=(8, 0, 0), transactional=True))
    append(log, a_batch(at=NOW + 50))
    end_transaction(log, 8, abort=True)

    log.truncate_to(1)

    newest = log.max_timestamp()
    assert newest is not None
    assert (newest.timestamp, newest.offset) == (NOW + 5, 0)
    assert log.aborted_transactions(0, 10) == []
    assert log.first_unstable_offset == 0


def test_truncation_forgets_an_epoch_that_wrote_nothing():
    log = a_log(MemoryDisk())
    append(log, a_batch(), epoch=1)
    log.epochs.assign(2, log.end_offset)

    log.truncate_to(log.end_offset)

    assert log.epochs.entries == ((1, 0),)


def test_a_cut_whose_sync_is_left_to_the_caller_is_safe_when_that_is_done():
    for seed in range(30):
        disk = MemoryDisk()
        log = a_log(disk)
        append_all(log, *[b"old"] * 6)
        flush(log)
        cut = log.truncate_to(3, sync=False)
        assert cut is not None
        cut.fsync()
        append_all(log, b"new", b"new")
        disk.crash(Random(seed))

        kept = list(values_of(crashed(disk, log.recovery_point)).values())

        assert kept[:3] == [b"old"] * 3
        assert kept[3:] in ([], [b"new"], [b"new", b"new"])


def test_truncation_before_the_log_begins_it_anew():
    log = a_log(MemoryDisk(), log_start_offset=100)
    append_all(log, b"a")

    log.truncate_to(50)

    assert (log.start_offset, log.end_offset, log.size_bytes()) == (50, 50, 0)


def test_what_was_cut_does_not_come_back():
    for seed in range(30):
        disk = MemoryDisk()
        log = a_log(disk, SMALL)
        append_all(log, *[b"old"] * 6)
        flush(log)
        log.truncate_to(3)
        disk.crash(Random(seed))

        assert len(values_of(crashed(disk, 3))) == 3
