"""Retention: whole segments, the oldest first, by age, by size and by start offset."""

import pytest

from klamm.log.log import Log
from klamm.testing.disk import MemoryDisk
from log.samples import DIRECTORY, NOW, a_batch, a_log, append, flush, settings, values_of

SIZE = len(a_batch(b"v"))
KEEP = 10_000


def a_log_of_segments(count: int, **topic: object) -> Log:
    """One record a segment, a second apart; flushed."""
    chosen = {"segment_bytes": SIZE, "retention_ms": -1, "file_delete_delay_ms": 500} | topic
    log = a_log(MemoryDisk(), settings(**chosen))
    for number in range(count):
        append(log, a_batch(b"%d" % number, at=NOW + number * 1000), now=NOW + number * 1000)
    flush(log)
    return log


def files(log: Log) -> list[str]:
    return log._disk.listdir(DIRECTORY)


def test_segments_older_than_the_limit_go():
    log = a_log_of_segments(5, retention_ms=KEEP)

    assert log.retain(NOW + KEEP, up_to=5) == []
    assert log.retain(NOW + KEEP + 1001, up_to=5) == [0, 1]
    assert (log.start_offset, list(values_of(log))) == (2, [2, 3, 4])


def test_the_newest_record_of_a_segment_decides_and_older_segments_behind_it_wait():
    log = a_log(MemoryDisk(), settings(segment_bytes=SIZE, retention_ms=KEEP))
    append(log, a_batch(at=NOW + 5000), now=NOW + 5000)
    append(log, a_batch(at=NOW), now=NOW + 5000)
    append(log, a_batch(at=NOW), now=NOW + 5000)
    flush(log)

    assert log.retain(NOW + KEEP + 1, up_to=3) == []


def test_the_size_of_what_stays_does_not_fall_below_the_limit():
    log = a_log_of_segments(5, retention_bytes=2 * SIZE + 1)

    assert log.retain(NOW, up_to=5) == [0, 1]
    assert log.size_bytes() == 3 * SIZE


def test_nothing_goes_above_the_high_watermark():
    log = a_log_of_segments(5, retention_bytes=0)

    assert log.retain(NOW, up_to=2) == [0, 1]


def test_a_log_that_is_expired_as_a_whole_keeps_an_empty_segment_and_its_end():
    log = a_log_of_segments(3, retention_ms=KEEP)
    later = NOW + 10 * KEEP

    # The active segment is closed first; it follows when a flush has made its producers safe.
    gone = log.retain(later, up_to=3)
    assert log.needs_flush(later)
    flush(log)
    gone += log.retain(later, up_to=3)

    assert gone == [0, 1, 2]
    assert (log.start_offset, log.end_offset, log.size_bytes()) == (3, 3, 0)
    assert log.retain(later, up_to=3) == []
    assert append(log, a_batch()).base_offset == 3


@pytest.mark.parametrize("policy", [("compact",), ()])
def test_without_the_policy_delete_only_the_start_offset_counts(policy: tuple[str, ...]):
    log = a_log_of_segments(5, retention_ms=KEEP)
    log.reconfigure(settings(cleanup_policy=policy, retention_ms=1, retention_bytes=1))

    assert log.retain(NOW + 10 * KEEP, up_to=5) == []
    log.advance_start(2)
    assert log.retain(NOW, up_to=5) == [0, 1]


def test_deleted_records_take_their_segments_along_but_never_the_active_one():
    log = a_log_of_segments(3)

    log.advance_start(3)

    assert log.retain(NOW, up_to=3) == [0, 1]
    assert (log.start_offset, log.segment_count, values_of(log)) == (3, 1, {})


def test_a_segment_without_times_is_as_old_as_its_file():
    log = a_log(MemoryDisk(), settings(segment_bytes=SIZE, retention_ms=KEEP))
    log._disk.now_ms = NOW
    for _ in range(3):
        append(log, a_batch(at=-1))
    flush(log)

    assert log.retain(NOW + KEEP, up_to=3) == []
    assert log.retain(NOW + KEEP + 1, up_to=3) == [0, 1]


def test_files_are_renamed_at_once_and_removed_later():
    log = a_log_of_segments(3, retention_bytes=SIZE)
    log.retain(NOW, up_to=3)
    renamed = [name for name in files(log) if name.startswith((f"{0:020d}", f"{1:020d}"))]

    assert renamed
    assert all(name.endswith(".deleted") for name in renamed)
    assert log.remove_deleted(NOW) == NOW + 500
    assert log.remove_deleted(NOW + 499) == NOW + 500
    assert log.remove_deleted(NOW + 500) is None
    assert not any(name.endswith(".deleted") for name in files(log))


def test_epochs_of_dropped_records_are_forgotten():
    log = a_log(MemoryDisk(), settings(segment_bytes=SIZE, retention_bytes=SIZE))
    for epoch in range(4):
        append(log, a_batch(), epoch=epoch)
    flush(log)

    log.retain(NOW, up_to=4)

    assert log.epochs.entries == ((3, 3),)


def test_producers_outlive_their_records():
    log = a_log(MemoryDisk(), settings(segment_bytes=SIZE, retention_bytes=SIZE))
    append(log, a_batch(b"v", producer=(7, 0, 0)))
    append(log, a_batch(b"v"))
    append(log, a_batch(b"v"))
    flush(log)
    log.retain(NOW, up_to=3)
    log.close(NOW)

    log = a_log(log._disk, settings(), clean=True)

    assert log.start_offset > 0
    assert append(log, a_batch(b"v", producer=(7, 0, 0))).duplicate


def test_producers_silent_for_a_day_are_forgotten():
    log = a_log(MemoryDisk(), producer_expiry_ms=1000)
    append(log, a_batch(producer=(7, 0, 0)))

    assert log.expire_producers(NOW + 999) == []
    assert log.expire_producers(NOW + 1000) == [7]
    assert append(log, a_batch(producer=(7, 0, 55))).base_offset == 1
