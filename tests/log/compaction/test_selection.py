"""How dirty a log is, and which one is cleaned next."""

import pytest

from klamm.base.settings.topic import TopicSettings
from klamm.log.compaction.selection import Dirt, dirtiest, is_worth_cleaning
from klamm.log.log import Log
from klamm.testing.disk import MemoryDisk
from log.compaction.rounds import compacted, measure, put
from log.samples import NOW, a_batch, a_log, append, end_transaction

HOUR = 3_600_000
# Two batches of one record each fill a segment.
SETTINGS = compacted(segment_bytes=150)


def a_dirty_log(settings: TopicSettings = SETTINGS, *, count: int = 7) -> Log:
    """Segments begin at 0, 2, 4 and 6; the last is active."""
    log = a_log(MemoryDisk(), settings)
    put(log, *[(b"k", b"v")] * count)
    assert [segment.base_offset for segment in log.segments()] == list(range(0, count, 2))
    return log


def test_all_sealed_segments_of_a_new_log_are_dirty() -> None:
    log = a_dirty_log()
    size = log.segments()[0].size

    dirt = measure(log, SETTINGS)

    assert dirt == Dirt(0, 6, clean_bytes=0, dirty_bytes=3 * size, is_overdue=False)
    assert dirt.ratio == 1.0


def test_what_an_earlier_round_cleaned_counts_against_it() -> None:
    log = a_dirty_log()
    size = log.segments()[0].size

    dirt = measure(log, SETTINGS, checkpoint=4)

    assert dirt == Dirt(4, 6, clean_bytes=2 * size, dirty_bytes=size, is_overdue=False)
    assert dirt.ratio == pytest.approx(1 / 3)


def test_segment_that_is_partly_clean_counts_on_both_sides() -> None:
    log = a_dirty_log()
    size = log.segments()[0].size

    dirt = measure(log, SETTINGS, checkpoint=3)

    assert (dirt.clean_bytes, dirt.dirty_bytes) == (2 * size, 2 * size)


def test_log_with_one_segment_has_nothing_to_clean() -> None:
    log = a_dirty_log(count=2)

    assert measure(log, SETTINGS).dirty_bytes == 0


@pytest.mark.parametrize("checkpoint", [1, 100])
def test_checkpoint_outside_the_log_means_that_all_is_dirty(checkpoint: int) -> None:
    log = a_dirty_log()
    log.advance_start(2)

    assert measure(log, SETTINGS, checkpoint).first_dirty_offset == 2


def test_segment_with_an_open_transaction_and_all_behind_it_are_left_alone() -> None:
    log = a_log(MemoryDisk(), SETTINGS)
    put(log, *[(b"k", b"v")] * 3)
    append(log, a_batch(b"v", key=b"k", producer=(7, 0, 0), transactional=True))
    put(log, *[(b"k", b"v")] * 4)
    assert log.first_unstable_offset == 3

    dirt = measure(log, SETTINGS)

    assert dirt.end_offset == 2
    assert dirt.dirty_bytes == log.segments()[0].size


def test_transaction_that_ended_is_cleaned() -> None:
    log = a_log(MemoryDisk(), SETTINGS)
    append(log, a_batch(b"v", key=b"k", producer=(7, 0, 0), transactional=True))
    end_transaction(log, 7, abort=False)
    put(log, *[(b"k", b"v")] * 4)

    assert measure(log, SETTINGS).end_offset == log.segments()[-1].base_offset


def test_young_segment_and_all_behind_it_are_left_alone() -> None:
    settings = compacted(segment_bytes=150, min_compaction_lag_ms=HOUR)
    log = a_log(MemoryDisk(), settings)
    put(log, (b"k", b"v"), (b"k", b"v"), at=NOW - 2 * HOUR)
    put(log, (b"k", b"v"), (b"k", b"v"), at=NOW - HOUR // 2)
    put(log, (b"k", b"v"), (b"k", b"v"), (b"k", b"v"), at=NOW - 2 * HOUR)

    assert measure(log, settings).end_offset == 2
    assert measure(log, settings, now=NOW + HOUR).end_offset == 6


def test_dirt_that_waited_too_long_is_cleaned_however_little_it_is() -> None:
    settings = compacted(
        segment_bytes=150, max_compaction_lag_ms=HOUR, min_cleanable_dirty_ratio=1.0
    )
    log = a_dirty_log(settings)

    now, later = measure(log, settings), measure(log, settings, now=NOW + HOUR + 1)

    assert (now.is_overdue, later.is_overdue) == (False, True)
    assert not is_worth_cleaning(now, settings)
    assert is_worth_cleaning(later, settings)


def test_what_is_clean_is_never_overdue() -> None:
    settings = compacted(segment_bytes=150, max_compaction_lag_ms=HOUR)
    log = a_dirty_log(settings)

    dirt = measure(log, settings, checkpoint=6, now=NOW + 2 * HOUR)

    assert not is_worth_cleaning(dirt, settings)


@pytest.mark.parametrize(("ratio", "is_worth_it"), [(0.5, False), (0.49, True)])
def test_dirty_share_must_exceed_the_setting(ratio: float, is_worth_it: bool) -> None:
    dirt = Dirt(0, 10, clean_bytes=50, dirty_bytes=50, is_overdue=False)

    assert is_worth_cleaning(dirt, compacted(min_cleanable_dirty_ratio=ratio)) is is_worth_it


def test_empty_log_is_not_worth_it_even_if_any_dirt_is() -> None:
    dirt = Dirt(0, 10, clean_bytes=0, dirty_bytes=0, is_overdue=True)

    assert not is_worth_cleaning(dirt, compacted(min_cleanable_dirty_ratio=0.0))


def test_dirtiest_is_the_one_with_the_largest_share() -> None:
    little = Dirt(0, 10, clean_bytes=90, dirty_bytes=1000, is_overdue=False)
    much = Dirt(0, 10, clean_bytes=1, dirty_bytes=100, is_overdue=False)

    assert dirtiest([("little", little), ("much", much)]) == ("much", much)
    assert dirtiest([]) is None
