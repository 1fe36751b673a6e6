"""Whole rounds over a log: what readers, restarts and later rounds find."""

import pytest

from klamm.base.settings.topic import TopicSettings
from klamm.log.compaction.cleaner import Cleaning
from klamm.log.compaction.round import Round
from klamm.log.log import Log
from klamm.log.results import DamagedLog
from klamm.protocol.records.batch import Codec
from klamm.testing.disk import MemoryDisk
from log.compaction.rounds import DAY, clean, compacted, keyed, measure, no_pace, put, records_of
from log.samples import (
    DIRECTORY,
    NOW,
    a_log,
    append,
    end_transaction,
    flush,
    headers_of,
)

SETTINGS = compacted(segment_bytes=300)


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


def a_cleaned_log(disk: MemoryDisk, settings: TopicSettings = SETTINGS) -> tuple[Log, int]:
    """Twenty records of three keys, of which three are left; and where the next round begins."""
    log = a_log(disk, settings)
    put(log, *[(b"k%d" % (number % 3), b"v%d" % number) for number in range(20)])
    log.roll(NOW)
    return log, clean(disk, log, settings)


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments()]


LEFT = [(17, b"k2", b"v17"), (18, b"k0", b"v18"), (19, b"k1", b"v19")]


# Reading ---------------------------------------------------------------------------------------


def test_last_value_of_each_key_is_left_at_its_offset(disk: MemoryDisk) -> None:
    log, end = a_cleaned_log(disk)

    assert records_of(log) == LEFT
    assert (end, log.start_offset, log.end_offset) == (20, 0, 20)


def test_read_from_an_offset_that_is_gone_goes_on_behind_it(disk: MemoryDisk) -> None:
    log, _ = a_cleaned_log(disk)

    for offset in range(18):
        assert headers_of(log, offset)[0].last_offset == 17


def test_slice_from_before_the_swap_is_still_read_whole(disk: MemoryDisk) -> None:
    log = a_log(disk, SETTINGS)
    put(log, *[(b"k", b"v%d" % number) for number in range(8)])
    log.roll(NOW)
    part = log.read(0, 1 << 20, up_to=log.end_offset)
    assert part is not None
    before = part.read()

    clean(disk, log, SETTINGS)
    log.remove_deleted(NOW)

    assert part.read() == before
    assert records_of(log) == [(7, b"k", b"v7")]


def test_active_segment_is_never_touched(disk: MemoryDisk) -> None:
    log, _ = a_cleaned_log(disk)
    put(log, (b"k", b"1"), (b"k", b"2"))

    clean(disk, log, SETTINGS, 20)

    assert records_of(log) == [*LEFT, (20, b"k", b"1"), (21, b"k", b"2")]


def test_timestamps_lead_to_records_that_are_left(disk: MemoryDisk) -> None:
    log = a_log(disk, SETTINGS)
    for number in range(12):
        append(log, keyed((b"k%d" % (number % 2), b"v"), at=NOW + number, producer=(5, 0, number)))
    log.roll(NOW)
    # The producer's last batch stays, empty from the next round on.
    end = clean(disk, log, SETTINGS)
    put(log, (b"k0", b"new"), (b"k1", b"new"), at=NOW + 50)
    log.roll(NOW)
    clean(disk, log, SETTINGS, end)

    found = log.offset_for_timestamp(NOW + 3)

    assert records_of(log) == [(12, b"k0", b"new"), (13, b"k1", b"new")]
    assert [header.count for header in headers_of(log)] == [0, 1, 1]
    assert found is not None
    assert (found.timestamp, found.offset) == (NOW + 50, 12)


def test_aborted_data_goes_though_its_marker_stands_behind_what_is_cleaned(
    disk: MemoryDisk,
) -> None:
    log = a_log(disk, SETTINGS)
    append(log, keyed((b"a", b"1"), producer=(7, 0, 0), transactional=True))
    put(log, (b"b", b"2"))
    log.roll(NOW)
    end_transaction(log, 7, abort=True)

    clean(disk, log, SETTINGS)

    assert records_of(log) == [(1, b"b", b"2")]
    assert log.aborted_transactions(0, log.end_offset) == [(7, 0)]


# Segments and files ----------------------------------------------------------------------------


def test_small_segments_become_one_and_their_files_go(disk: MemoryDisk) -> None:
    log, end = a_cleaned_log(disk)
    assert bases(log) == [0, 4, 8, 12, 16, 20]
    put(log, (b"k0", b"new"))
    log.roll(NOW)

    clean(disk, log, SETTINGS, end)
    log.remove_deleted(NOW)

    assert bases(log) == [0, 21]
    names = disk.listdir(DIRECTORY)
    assert {name[:20] for name in names if name[0] == "0"} == {f"{0:020d}", f"{21:020d}"}
    assert not [name for name in names if name.endswith((".deleted", ".swap", ".cleaned"))]


def test_segment_of_which_everything_stays_is_left_as_it_is(disk: MemoryDisk) -> None:
    settings = compacted(segment_bytes=150)
    log = a_log(disk, settings)
    put(log, *[(b"k%d" % number, b"v") for number in range(6)])
    segments = log.segments()

    clean(disk, log, settings)

    assert log.segments() == segments


def test_indexes_of_a_copy_are_those_that_an_append_would_have_written(disk: MemoryDisk) -> None:
    log, _ = a_cleaned_log(disk, compacted(segment_bytes=4000))
    segment = log.segments()[0]
    written = [disk.read(segment.path(kind)) for kind in (".index", ".timeindex")]

    segment.rebuild_indexes()

    assert len(written[0]) == 2 * 8
    assert [disk.read(segment.path(".timeindex"))] == written[1:]


def test_codec_of_a_batch_stays(disk: MemoryDisk) -> None:
    log = a_log(disk, SETTINGS)
    for codec in Codec:
        append(log, keyed((b"k", b"x" * 50), (b"%d" % codec, b"y" * 50), codec=codec))
    log.roll(NOW)

    clean(disk, log, SETTINGS)

    assert [header.codec for header in headers_of(log)] == list(Codec)
    assert [key for _, key, _ in records_of(log)] == [b"0", b"1", b"2", b"3", b"k", b"4"]


def test_gap_before_the_end_of_a_round_counts_as_cleaned(disk: MemoryDisk) -> None:
    log, _ = a_cleaned_log(disk)
    assert [segment.size for segment in log.segments()[:4]] == [0, 0, 0, 0]
    dirt = measure(log, SETTINGS)._replace(end_offset=16)
    asked = Round(disk, log, SETTINGS, dirt, now=NOW, map_bytes=1 << 12)

    cleaning = Cleaning(disk, asked.job, no_pace)
    cleaning.build_map()

    assert cleaning.end_offset == 16


# Memory ----------------------------------------------------------------------------------------


def test_map_that_is_too_small_cleans_the_log_in_several_rounds(disk: MemoryDisk) -> None:
    log = a_log(disk, SETTINGS)
    put(log, *[(b"k%d" % (number % 10), b"v%d" % number) for number in range(40)])
    log.roll(NOW)
    ends = [0]

    while ends[-1] < 40:
        ends.append(clean(disk, log, SETTINGS, ends[-1], map_bytes=24 * 8))

    assert ends == sorted(set(ends))
    assert len(ends) > 3
    assert records_of(log) == [(30 + n, b"k%d" % n, b"v%d" % (30 + n)) for n in range(10)]


def test_batch_with_more_keys_than_the_map_holds_is_left_alone(disk: MemoryDisk) -> None:
    log = a_log(disk, SETTINGS)
    append(log, keyed(*[(b"k%d" % number, b"v") for number in range(10)]))
    log.roll(NOW)

    assert clean(disk, log, SETTINGS, map_bytes=24 * 8) == 0
    assert len(records_of(log)) == 10


# Restarts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_clean", [True, False])
def test_restart_finds_the_same_log(disk: MemoryDisk, is_clean: bool) -> None:
    log, _ = a_cleaned_log(disk)
    put(log, (b"k9", b"later"))
    flush(log)
    if is_clean:
        log.close(NOW)

    log = a_log(disk, SETTINGS, clean=is_clean, recovery_point=log.recovery_point)

    assert records_of(log) == [*LEFT, (20, b"k9", b"later")]
    assert log.end_offset == 21


def test_recovery_from_the_very_beginning_takes_the_gaps_for_what_they_are(
    disk: MemoryDisk,
) -> None:
    log, _ = a_cleaned_log(disk)
    put(log, (b"k9", b"later"))
    flush(log)

    log = a_log(disk, SETTINGS, clean=False, recovery_point=0)

    assert records_of(log) == [*LEFT, (20, b"k9", b"later")]


def test_producer_is_still_known_when_its_records_are_gone(disk: MemoryDisk) -> None:
    log = a_log(disk, SETTINGS)
    for sequence in range(4):
        append(log, keyed((b"k", b"v"), producer=(5, 0, sequence)))
    put(log, (b"k", b"last"))
    log.roll(NOW)
    clean(disk, log, SETTINGS)
    assert records_of(log) == [(4, b"k", b"last")]

    log = a_log(disk, SETTINGS, clean=False, recovery_point=0)
    retried = append(log, keyed((b"k", b"v"), producer=(5, 0, 3)))

    assert (retried.base_offset, retried.duplicate) == (3, True)


def test_transaction_of_which_nothing_is_left_but_an_empty_marker_is_no_obstacle(
    disk: MemoryDisk,
) -> None:
    log = a_log(disk, SETTINGS)
    end_transaction(log, 7, epoch=2, abort=True)
    put(log, (b"k", b"v"))
    log.roll(NOW)
    end = clean(disk, log, SETTINGS)
    for later in (DAY, 2 * DAY):
        put(log, (b"k", b"v"))
        log.roll(NOW)
        end = clean(disk, log, SETTINGS, end, now=NOW + later)
    assert headers_of(log)[0].count == 0

    log = a_log(disk, SETTINGS, clean=False, recovery_point=0)

    assert [header.is_control for header in headers_of(log)] == [True, False]


# Damage ----------------------------------------------------------------------------------------


def test_damaged_batch_ends_the_round_before_anything_is_written_over_it(disk: MemoryDisk) -> None:
    log = a_log(disk, SETTINGS)
    put(log, *[(b"k", b"v%d" % number) for number in range(8)])
    log.roll(NOW)
    flush(log)
    first = log.segments()[0]
    first.file.pwrite(b"!", 100)
    asked = Round(disk, log, SETTINGS, measure(log, SETTINGS), now=NOW, map_bytes=1 << 12)

    with pytest.raises(DamagedLog):
        Cleaning(disk, asked.job, no_pace).build_map()

    assert log.segments()[0] is first
    assert not [name for name in disk.listdir(DIRECTORY) if name.endswith(".cleaned")]


def test_round_that_is_stopped_leaves_nothing_behind(disk: MemoryDisk) -> None:
    log = a_log(disk, SETTINGS)
    put(log, *[(b"k", b"v%d" % number) for number in range(8)])
    log.roll(NOW)
    flush(log)
    asked = Round(disk, log, SETTINGS, measure(log, SETTINGS), now=NOW, map_bytes=1 << 12)
    is_stopped = False

    def pace(_: int) -> None:
        if is_stopped:
            raise InterruptedError

    cleaning = Cleaning(disk, asked.job, pace)
    cleaning.build_map()
    is_stopped = True

    with pytest.raises(InterruptedError):
        cleaning.copy(cleaning.groups()[0])

    assert not [name for name in disk.listdir(DIRECTORY) if name.endswith(".cleaned")]
