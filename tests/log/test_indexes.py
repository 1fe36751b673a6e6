"""The indexes against naive twins, and their bytes."""

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from klamm.log.index import offset_index, time_index
from klamm.log.index.offset_index import OffsetIndex
from klamm.log.index.time_index import TimeIndex
from klamm.testing.disk import MemoryDisk


def rising(most: int):
    return st.lists(st.integers(1, most), unique=True, max_size=40).map(sorted)


def in_a_file(data: bytes):
    disk = MemoryDisk()
    disk.mkdir("/d")
    disk.write("/d/index", data)
    return disk.open("/d/index")


entries = st.tuples(rising(2**31 - 1), rising(2**31 - 1)).map(
    lambda both: list(zip(*both, strict=False))
)


@given(entries, st.integers(0, 2**31 - 1))
def test_offset_lookup_finds_the_last_entry_not_behind(pairs, asked):
    index = OffsetIndex()
    for offset, position in pairs:
        index.append(offset, position)

    found = bisect_right([offset for offset, _ in pairs], asked)
    expected = pairs[found - 1][1] if found else 0

    assert index.lookup(asked) == expected
    assert offset_index.search(in_a_file(index.to_bytes()), asked) == expected


@given(entries, st.integers(0, 30))
def test_offset_index_reads_back_also_where_kafka_preallocated(pairs, zeros):
    index = OffsetIndex()
    for offset, position in pairs:
        index.append(offset, position)

    read = OffsetIndex.parse(index.to_bytes() + bytes(zeros))

    assert list(zip(read.offsets, read.positions, strict=True)) == pairs
    assert offset_index.last_entry(in_a_file(index.to_bytes())) == (pairs[-1] if pairs else None)


@given(entries, st.integers(0, 2**31 - 1))
def test_truncated_offset_index_keeps_what_is_below(pairs, offset):
    index = OffsetIndex()
    for pair in pairs:
        index.append(*pair)

    index.truncate(offset)

    assert list(index.offsets) == [o for o, _ in pairs if o < offset]


@given(entries, st.integers(0, 2**31))
def test_time_lookup_finds_the_last_entry_before(pairs, asked):
    index = TimeIndex()
    for timestamp, offset in pairs:
        index.append(timestamp, offset)

    expected = max((o for t, o in pairs if t < asked), default=0)

    assert index.lookup(asked) == expected
    found = time_index.search(in_a_file(index.to_bytes()), asked)
    assert (found[1] if found else 0) == expected


@given(entries, st.integers(0, 40))
def test_time_index_reads_back_also_where_kafka_preallocated(pairs, zeros):
    index = TimeIndex()
    for pair in pairs:
        index.append(*pair)

    read = TimeIndex.parse(index.to_bytes() + bytes(zeros))

    assert list(zip(read.timestamps, read.offsets, strict=True)) == pairs
    assert time_index.last_entry(in_a_file(index.to_bytes())) == (pairs[-1] if pairs else None)


def test_time_index_takes_only_what_rises():
    index = TimeIndex()

    taken = [index.append(*entry) for entry in [(-1, 0), (5, 1), (5, 2), (4, 3), (6, 1), (6, 3)]]

    assert taken == [False, True, False, False, False, True]


def test_bytes_are_big_endian_pairs():
    offsets, times = OffsetIndex(), TimeIndex()
    offsets.append(7, 4096)
    times.append(1_700_000_000_000, 7)

    assert offsets.to_bytes().hex() == "0000000700001000"
    assert times.to_bytes().hex() == "0000018bcfe5680000000007"
