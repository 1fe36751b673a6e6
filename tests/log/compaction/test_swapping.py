"""Copies on their way into the log: refused when it has moved on, finished or thrown away after a crash."""

from contextlib import suppress
from random import Random

import pytest

from klamm.log.compaction.cleaner import Cleaning, Copied
from klamm.log.compaction.round import Round
from klamm.log.log import Log
from klamm.testing.disk import MemoryDisk
from log.compaction.rounds import (
    check_files,
    clean,
    compacted,
    keyed,
    measure,
    no_pace,
    put,
    records_of,
)
from log.samples import DIRECTORY, NOW, a_log, append, end_transaction, flush

SETTINGS = compacted(segment_bytes=300)
# The renames and removals of one swap of the log below, and then some.
STEPS = 30


class Stopped(Exception):
    """The machine stopped here."""


class StoppingDisk(MemoryDisk):
    """Stops after some renames."""

    steps_left = -1

    def rename(self, old: str, new: str) -> None:
        if not self.steps_left:
            raise Stopped
        self.steps_left -= 1
        super().rename(old, new)


def a_copied_log(disk: MemoryDisk) -> tuple[Log, Round, Copied]:
    """Three segments, the first two of small batches that fit into one, with aborted data; and their copy."""
    log = a_log(disk, SETTINGS)
    append(log, keyed((b"a", b"1"), producer=(7, 0, 0), transactional=True))
    end_transaction(log, 7, abort=True)
    log.roll(NOW)
    put(log, (b"a", b"2"), (b"b", b"3"), (b"a", b"4"))
    log.roll(NOW)
    put(log, (b"c", b"5"))
    flush(log)
    settings = compacted(segment_bytes=1000)
    asked = Round(disk, log, settings, measure(log, settings), now=NOW, map_bytes=1 << 12)
    cleaning = Cleaning(disk, asked.job, no_pace)
    cleaning.build_map()
    (group,) = cleaning.groups()
    copied = cleaning.copy(group)
    assert copied is not None
    return log, asked, copied


BEFORE = [
    (0, b"a", b"1"),
    (2, b"a", b"2"),
    (3, b"b", b"3"),
    (4, b"a", b"4"),
    (5, b"c", b"5"),
]
AFTER = [(3, b"b", b"3"), (4, b"a", b"4"), (5, b"c", b"5")]
ABORTED = [(7, 0)]


def test_swap_puts_the_copy_in_the_place_of_the_originals() -> None:
    log, asked, copied = a_copied_log(MemoryDisk())
    assert records_of(log) == BEFORE

    assert asked.swap_in(copied)

    assert records_of(log) == AFTER
    assert [segment.base_offset for segment in log.segments()] == [0, 5]
    assert log.aborted_transactions(0, 6) == ABORTED


# The log moved on ------------------------------------------------------------------------------


def test_swap_is_refused_when_retention_dropped_an_original() -> None:
    disk = MemoryDisk()
    log, asked, copied = a_copied_log(disk)
    log.advance_start(2)
    assert log.retain(NOW, up_to=log.end_offset) == [0]

    assert not asked.swap_in(copied)
    asked.discard(copied)

    assert records_of(log) == BEFORE[1:]
    assert not [name for name in disk.listdir(DIRECTORY) if name.endswith(".cleaned")]


def test_swap_is_refused_when_an_original_was_cut() -> None:
    log, asked, copied = a_copied_log(MemoryDisk())
    log.truncate_to(4, NOW)
    put(log, (b"a", b"other"), (b"c", b"other"))

    assert not asked.swap_in(copied)
    assert records_of(log)[-2:] == [(4, b"a", b"other"), (5, b"c", b"other")]


def test_swap_is_refused_when_a_segment_of_the_same_name_and_size_is_another() -> None:
    log, asked, copied = a_copied_log(MemoryDisk())
    log.truncate_to(2, NOW)
    put(log, (b"a", b"6"), (b"b", b"7"), (b"a", b"8"))
    log.roll(NOW)

    assert not asked.swap_in(copied)
    assert records_of(log) == [
        (0, b"a", b"1"),
        (2, b"a", b"6"),
        (3, b"b", b"7"),
        (4, b"a", b"8"),
    ]


def test_swap_is_refused_when_an_original_became_active_again() -> None:
    log, asked, copied = a_copied_log(MemoryDisk())
    log.truncate_to(5, NOW)
    assert [segment.base_offset for segment in log.segments()] == [0, 2, 5]
    log.truncate_to(4, NOW)

    assert not asked.swap_in(copied)


# Crashes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", range(STEPS))
def test_process_that_is_killed_in_a_swap_finds_the_old_log_or_the_new_one(steps: int) -> None:
    """What was done to the files before the kill is there afterwards."""
    disk = StoppingDisk()
    log, asked, copied = a_copied_log(disk)
    disk.steps_left = steps
    try:
        asked.swap_in(copied)
    except Stopped:
        disk.steps_left = -1

    log = a_log(disk, SETTINGS, recovery_point=log.recovery_point)

    _check(disk, log)
    _check(disk, a_log(disk, SETTINGS, recovery_point=log.recovery_point))


@pytest.mark.parametrize("steps", range(STEPS))
@pytest.mark.parametrize("seed", range(12))
def test_power_failure_in_a_swap_leaves_the_old_log_or_the_new_one(steps: int, seed: int) -> None:
    """What was not synced may be there or not; and the next start may fail like this one."""
    disk = StoppingDisk()
    rng = Random(seed)
    log, asked, copied = a_copied_log(disk)
    disk.steps_left = steps
    with suppress(Stopped):
        asked.swap_in(copied)
    disk.crash(rng)
    disk.steps_left = rng.randrange(6)
    with suppress(Stopped):
        a_log(disk, SETTINGS, recovery_point=log.recovery_point)
    disk.steps_left = -1
    disk.crash(rng)

    log = a_log(disk, SETTINGS, recovery_point=log.recovery_point)

    _check(disk, log)


@pytest.mark.parametrize("steps", range(STEPS))
def test_what_a_tombstone_covered_never_comes_back_without_it(steps: int) -> None:
    """The copy is empty, so recovery cannot tell how many segments it stood for, and brings some of them back."""
    disk = StoppingDisk()
    settings = compacted(segment_bytes=1000, delete_retention_ms=0)
    log = a_log(disk, settings)
    others = [(b"%d" % number, b"1") for number in range(5)]
    put(log, (b"z", b"1"))
    log.roll(NOW)
    put(log, (b"a", b"1"))
    log.roll(NOW)
    append(log, keyed(*others))
    put(log, (b"a", None))
    log.roll(NOW)
    # Seven keys fit: the tombstone gets its horizon in this round, but is not known to cover anything.
    alone = compacted(segment_bytes=1, delete_retention_ms=0)
    end = clean(disk, log, alone, map_bytes=8 * 24)
    assert [offset for offset, _, _ in records_of(log)] == [0, 1, 2, 3, 4, 5, 6, 7]
    put(log, (b"z", b"2"))
    append(log, keyed(*others))
    log.roll(NOW)
    flush(log)
    settings = compacted(segment_bytes=log.size_bytes() - 1, delete_retention_ms=0)
    asked = Round(disk, log, settings, measure(log, settings, end), now=NOW + 1, map_bytes=1 << 12)
    cleaning = Cleaning(disk, asked.job, no_pace)
    cleaning.build_map()
    copied = cleaning.copy(cleaning.groups()[0])
    assert copied is not None
    assert (copied.originals, copied.part.size) == ([0, 1, 2], 0)

    disk.steps_left = steps
    with suppress(Stopped):
        asked.swap_in(copied)
    disk.steps_left = -1
    log = a_log(disk, settings, recovery_point=log.recovery_point)

    left = [value for _, key, value in records_of(log) if key == b"a"]
    assert left in ([b"1", None], [None], [])
    check_files(disk, log)


def _check(disk: MemoryDisk, log: Log) -> None:
    found = records_of(log)
    assert found in (BEFORE, AFTER)
    assert log.aborted_transactions(0, log.end_offset) == ABORTED
    assert log.end_offset == 6
    leftovers = (".cleaned", ".swap", ".deleted")
    assert not [name for name in disk.listdir(DIRECTORY) if name.endswith(leftovers)]
    check_files(disk, log)
