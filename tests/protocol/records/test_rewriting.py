"""Batches with gaps: what stays is as it was, and the header says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import (
    DELETE_HORIZON,
    NO_TIMESTAMP,
    Codec,
    check_crc,
    read_header,
)
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, open_batch, read_records
from klamm.protocol.records.rewriting import RawRecord, emptied, raw_records, without_others

T = 1_700_000_000_000
RECORDS = [
    Record(timestamp=T, key=b"a", value=b"1", headers=[("h", b"x")]),
    Record(timestamp=T + 900, key=b"b", value=None),
    Record(timestamp=T + 70_000, key=None, value=b"3" * 300),
    Record(timestamp=T - 5, key=b"", value=b""),
]
SOME_BYTES = st.none() | st.binary(max_size=200)


def a_batch(codec: Codec = Codec.NONE, **header: object) -> bytearray:
    return build_batch(
        RECORDS,
        base_offset=100,
        leader_epoch=3,
        codec=codec,
        producer_id=9,
        producer_epoch=2,
        base_sequence=40,
        **header,  # type: ignore[arg-type]
    )


def raw(batch: bytearray) -> tuple[bytes, list[RawRecord]]:
    header, payload = open_batch(batch, max_size=1 << 20)
    return payload, list(raw_records(header, payload))


@pytest.mark.parametrize("codec", list(Codec))
def test_records_that_stay_are_what_they_were(codec: Codec) -> None:
    batch = a_batch(codec)
    payload, records = raw(batch)

    smaller = without_others(read_header(batch), payload, [records[1], records[3]])

    original = list(read_records(batch))
    assert list(read_records(smaller)) == [original[1], original[3]]
    assert check_crc(smaller)


def test_header_keeps_all_but_the_count_and_the_largest_timestamp() -> None:
    batch = a_batch(Codec.GZIP, transactional=True)
    payload, records = raw(batch)

    smaller = without_others(read_header(batch), payload, records[:2])

    was, header = read_header(batch), read_header(smaller)
    assert header == was._replace(
        batch_length=header.batch_length, crc=header.crc, count=2, max_timestamp=T + 900
    )
    assert (header.last_offset, header.last_sequence) == (103, 43)


def test_append_time_stays_the_time_of_the_batch() -> None:
    batch = a_batch(append_time=T + 1_000_000)
    payload, records = raw(batch)

    smaller = without_others(read_header(batch), payload, records[:1])

    assert [r.timestamp for r in read_records(smaller)] == [T + 1_000_000]


@pytest.mark.parametrize("horizon", [T + 86_400_000, T - 1, 0])
def test_delete_horizon_takes_the_place_of_the_base_timestamp(horizon: int) -> None:
    batch = a_batch(Codec.ZSTD)
    payload, records = raw(batch)

    marked = without_others(read_header(batch), payload, records, delete_horizon=horizon)

    header = read_header(marked)
    assert header.attributes == read_header(batch).attributes | DELETE_HORIZON
    assert header.delete_horizon == horizon
    assert list(read_records(marked)) == list(read_records(batch))


def test_horizon_that_was_set_stays_when_more_records_go() -> None:
    batch = a_batch()
    payload, records = raw(batch)
    marked = without_others(read_header(batch), payload, records, delete_horizon=T + 5)
    payload, records = raw(marked)

    smaller = without_others(read_header(marked), payload, records[1:2])

    assert read_header(smaller).delete_horizon == T + 5
    assert list(read_records(smaller)) == list(read_records(batch))[1:2]


def test_emptied_batch_keeps_offsets_and_sequences_and_nothing_else() -> None:
    batch = a_batch(Codec.LZ4, transactional=True)

    empty = emptied(read_header(batch))

    header, was = read_header(empty), read_header(batch)
    assert list(read_records(empty)) == []
    assert check_crc(empty)
    assert header == was._replace(
        batch_length=49,
        crc=header.crc,
        attributes=was.attributes & ~7,
        base_timestamp=NO_TIMESTAMP,
        count=0,
    )


def test_emptying_an_empty_batch_changes_nothing() -> None:
    empty = emptied(read_header(a_batch()))

    assert emptied(read_header(empty)) == empty


@given(
    st.lists(st.tuples(SOME_BYTES, SOME_BYTES, st.integers(0, 1 << 40)), min_size=1, max_size=20),
    st.data(),
)
def test_any_selection_survives(
    content: list[tuple[bytes | None, bytes | None, int]], data: st.DataObject
) -> None:
    batch = build_batch([Record(timestamp=at, key=key, value=value) for key, value, at in content])
    payload, records = raw(batch)
    numbers = data.draw(st.sets(st.sampled_from(range(len(content))), min_size=1))
    horizon = data.draw(st.none() | st.integers(0, 1 << 41))
    kept = [records[number] for number in sorted(numbers)]

    smaller = without_others(read_header(batch), payload, kept, delete_horizon=horizon)

    original = list(read_records(batch))
    assert list(read_records(smaller)) == [original[number] for number in sorted(numbers)]
    assert [(r.offset, r.key, r.is_tombstone, r.timestamp) for r in records] == [
        (r.offset, r.key, r.value is None, r.timestamp) for r in original
    ]


@given(st.binary(max_size=60))
def test_nonsense_is_refused_or_read_but_never_more(noise: bytes) -> None:
    header = read_header(a_batch())

    try:
        found = list(raw_records(header, noise))
    except CorruptFrame:
        return
    assert len(found) == header.count
