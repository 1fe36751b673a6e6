"""Reading: where a read begins and ends, and finding offsets by time."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from klamm.base.errors import ApiError, ErrorCode
from klamm.log.log import Log
from klamm.log.results import Slice, TimestampedOffset
from klamm.protocol.records.batch import Codec, batches
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.testing.disk import MemoryDisk
from log.samples import NOW, SETTINGS, a_batch, a_log, append, append_all, settings, values_of

SIZE = len(a_batch(b"v"))
LARGE = 1 << 20


def a_log_of(count: int, **topic: object) -> Log:
    """Batches of two records each."""
    log = a_log(MemoryDisk(), settings(**topic))
    for number in range(count):
        append(log, a_batch(b"%d" % number, b"%d" % number))
    return log


def bases_in(part: Slice | None) -> list[int]:
    assert part is not None
    return [header.base_offset for header, _ in batches(part.read(), partial_end=True)]


def test_a_read_begins_with_the_batch_that_holds_the_offset():
    log = a_log_of(3)

    assert bases_in(log.read(3, LARGE, up_to=6)) == [2, 4]


@pytest.mark.parametrize("offset", [-1, 7])
def test_an_offset_outside_the_log_is_refused(offset: int):
    log = a_log_of(3)

    with pytest.raises(ApiError, check=lambda e: e.code is ErrorCode.OFFSET_OUT_OF_RANGE):
        log.read(offset, LARGE, up_to=6)


def test_an_offset_below_the_start_is_refused():
    log = a_log_of(3)
    log.advance_start(3)

    with pytest.raises(ApiError, check=lambda e: e.code is ErrorCode.OFFSET_OUT_OF_RANGE):
        log.read(2, LARGE, up_to=6)
    assert bases_in(log.read(3, LARGE, up_to=6)) == [2, 4]


def test_nothing_is_read_at_the_end_or_at_the_limit():
    log = a_log_of(3)

    assert log.read(6, LARGE, up_to=6) is None
    assert log.read(4, LARGE, up_to=4) is None
    assert log.read(5, LARGE, up_to=2) is None


@pytest.mark.parametrize("up_to", [2, 4, 6])
def test_a_read_stays_below_its_limit(up_to: int):
    log = a_log_of(5)

    for _ in range(2):
        assert bases_in(log.read(0, LARGE, up_to=up_to)) == list(range(0, up_to, 2))


def test_a_read_may_end_within_a_batch():
    log = a_log_of(5)
    whole = len(a_batch(b"0", b"0"))

    part = log.read(0, 2 * whole + 10, up_to=10)

    assert part is not None
    assert part.size == 2 * whole + 10
    assert bases_in(part) == [0, 2]


def a_log_of_sizes(sizes: Iterable[int], **topic: object) -> Log:
    """Batches of one record each, of about these sizes."""
    log = a_log(MemoryDisk(), settings(**topic))
    for size in sizes:
        append(log, a_batch(b"v" * size))
    return log


def test_a_large_batch_that_is_cut_off_can_be_left_out():
    log = a_log_of_sizes([20_000] * 5)
    whole = len(a_batch(b"v" * 20_000))

    part = log.read(0, 50_000, up_to=5)

    assert part is not None
    assert (part.size, part.spare) == (50_000, 50_000 - 2 * whole)
    assert part.trimmed() == Slice(part.file, 0, 2 * whole, 0)


@pytest.mark.parametrize("end", [2, 3])
def test_nothing_is_left_out_where_a_read_ends_with_a_batch(end: int):
    log = a_log_of_sizes([20_000] * 5)

    part = log.read(0, end * len(a_batch(b"v" * 20_000)), up_to=5)

    assert part is not None
    assert part.spare == 0


def test_what_is_cut_off_of_a_small_batch_is_not_worth_the_while():
    log = a_log_of_sizes([100] * 500)

    part = log.read(0, 40_000, up_to=500)

    assert part is not None
    assert (part.size, part.spare) == (40_000, 0)


def test_in_a_sealed_segment_nobody_looks_for_what_is_cut_off():
    log = a_log_of_sizes([20_000] * 5)
    log.roll(NOW)
    append(log, a_batch(b"v"))

    part = log.read(0, 50_000, up_to=6)

    assert part is not None
    assert (part.size, part.spare) == (50_000, 0)


@given(
    st.lists(st.integers(1, 30_000), min_size=1, max_size=30),
    st.integers(0, 100_000),
    st.integers(0, 29),
)
def test_leaving_out_a_cut_batch_costs_no_more_than_an_interval_of_whole_ones(
    sizes: list[int], max_bytes: int, offset: int
):
    log = a_log_of_sizes(sizes)
    part = log.read(min(offset, len(sizes) - 1), max_bytes, up_to=len(sizes))
    assert part is not None

    kept, all_whole = part.trimmed().read(), bases_in(part)

    whole = [header.base_offset for header, _ in batches(kept, partial_end=True)]
    assert whole
    assert whole == all_whole[: len(whole)]
    left_out = all_whole[len(whole) :]
    assert (
        sum(len(a_batch(b"v" * sizes[base])) for base in left_out) <= SETTINGS.index_interval_bytes
    )


def test_the_first_batch_comes_whole_or_not_at_all():
    log = a_log_of(5)
    whole = len(a_batch(b"0", b"0"))

    assert log.read(0, 10, up_to=10) == Slice(log.read(0, 10, up_to=10).file, 0, whole, 0)  # type: ignore[union-attr]
    assert log.read(0, 10, up_to=10, min_one=False) is None
    assert log.read(0, 0, up_to=10, min_one=False) is None


def test_a_read_ends_with_its_segment():
    log = a_log_of(5, segment_bytes=3 * SIZE)

    assert bases_in(log.read(0, LARGE, up_to=10)) == [0, 2]
    assert bases_in(log.read(4, LARGE, up_to=10)) == [4, 6]
    assert bases_in(log.read(0, LARGE, up_to=2)) == [0]
    assert bases_in(log.read(4, LARGE, up_to=6)) == [4]


def test_following_the_end_sees_every_batch_once():
    log = a_log(MemoryDisk(), settings(segment_bytes=3 * SIZE))
    seen: list[int] = []
    offset = 0

    for count in (0, 1, 3, 0, 2, 5):
        append_all(log, *[b"v"] * count)
        while part := log.read(offset, LARGE, up_to=log.end_offset):
            seen += bases_in(part)
            offset = seen[-1] + 1

    assert seen == list(range(11))


def test_many_readers_at_different_offsets_are_served_alike():
    log = a_log_of(0)
    for offset in range(200):
        assert log.read(offset, LARGE, up_to=offset) is None
        append_all(log, b"v")

    for offset in range(200):
        assert bases_in(log.read(offset, LARGE, up_to=200))[0] == offset


def test_a_slice_can_be_read_after_its_segment_was_dropped():
    log = a_log_of(4, segment_bytes=3 * SIZE, retention_bytes=0, file_delete_delay_ms=0)
    part = log.read(0, LARGE, up_to=8)
    planned = log.begin_flush()
    assert planned is not None
    planned.run()
    log.end_flush(planned)

    assert log.retain(NOW, up_to=8) == [0]
    log.remove_deleted(NOW)

    assert bases_in(part) == [0, 2]


@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=30),
    interval=st.sampled_from([0, 100, 4096]),
    data=st.data(),
)
@hypothesis_settings(max_examples=60, deadline=None)
def test_every_offset_is_found_whatever_the_batches_and_segments(counts, interval, data):
    log = a_log(MemoryDisk(), settings(segment_bytes=600, index_interval_bytes=interval))
    expected = {}
    for count in counts:
        base = append(log, a_batch(*[b"v"] * count)).base_offset
        expected |= dict.fromkeys(range(base, base + count), base)
    if data.draw(st.booleans(), label="restart"):
        log.close(NOW)
        log = a_log(log._disk, settings(segment_bytes=600), clean=True)

    for offset, base in expected.items():
        assert bases_in(log.read(offset, LARGE, up_to=log.end_offset))[0] == base


# Time


def timed(*times: int) -> bytearray:
    return build_batch([Record(timestamp=NOW + at, value=b"v") for at in times], codec=Codec.GZIP)


def test_a_timestamp_finds_the_first_record_not_older():
    log = a_log(MemoryDisk(), settings(index_interval_bytes=0, segment_bytes=300))
    for times in ((0, 10, 20), (15, 40), (30, 50), (60,)):
        append(log, timed(*times), epoch=5, now=NOW + 100)
    log.roll(NOW)

    answers = {at: log.offset_for_timestamp(NOW + at) for at in (-5, 1, 20, 21, 41, 60, 61)}

    assert answers == {
        -5: TimestampedOffset(NOW, 0, 5),
        1: TimestampedOffset(NOW + 10, 1, 5),
        20: TimestampedOffset(NOW + 20, 2, 5),
        21: TimestampedOffset(NOW + 40, 4, 5),
        41: TimestampedOffset(NOW + 50, 6, 5),
        60: TimestampedOffset(NOW + 60, 7, 5),
        61: None,
    }


def test_a_timestamp_does_not_find_what_is_below_the_start():
    log = a_log(MemoryDisk())
    append(log, timed(0, 10, 20))
    log.advance_start(2)

    assert log.offset_for_timestamp(NOW) == TimestampedOffset(NOW + 20, 2, 0)


def test_the_newest_record_is_not_always_the_last():
    log = a_log(MemoryDisk(), settings(segment_bytes=150))
    assert log.max_timestamp() is None

    for times in ((0, 10), (70, 90, 80), (60,), (90,)):
        append(log, timed(*times))

    assert log.max_timestamp() == TimestampedOffset(NOW + 90, 3, 0)


def test_records_without_time_are_not_found_by_time():
    log = a_log(MemoryDisk())
    append(log, a_batch(at=-1))

    assert log.offset_for_timestamp(0) is None
    assert log.max_timestamp() is None


@given(
    st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=3), min_size=1, max_size=20),
    st.integers(-1, 51),
    st.booleans(),
)
@hypothesis_settings(max_examples=100, deadline=None)
def test_time_lookup_agrees_with_looking_at_every_record(times, asked, restarts):
    chosen = settings(segment_bytes=300, index_interval_bytes=0)
    log = a_log(MemoryDisk(), chosen)
    for batch in times:
        append(log, timed(*batch), now=NOW + 100)
    if restarts:
        log.close(NOW)
        log = a_log(log._disk, chosen, clean=True)

    flat = [at for batch in times for at in batch]
    expected = next(((NOW + at, offset) for offset, at in enumerate(flat) if at >= asked), None)
    found = log.offset_for_timestamp(NOW + asked)
    assert (found and (found.timestamp, found.offset)) == expected


def test_values_survive_any_codec():
    log = a_log(MemoryDisk())
    for codec in Codec:
        append(log, a_batch(b"v" * 50, codec=codec))

    assert set(values_of(log).values()) == {b"v" * 50}
