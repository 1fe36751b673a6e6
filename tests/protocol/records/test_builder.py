"""Batches out of records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import Codec, check_crc, read_header
from klamm.protocol.records.builder import build_batch, build_single, rewrite_codec
from klamm.protocol.records.reader import Record, read_records
from protocol.records.samples import T, many

DATA = st.none() | st.binary(max_size=100)
HEADERS = st.lists(st.tuples(st.text(max_size=20), DATA), max_size=2)
TIMESTAMPS = st.integers(-1, 2**62)
RECORDS = st.lists(
    st.builds(Record, timestamp=TIMESTAMPS, key=DATA, value=DATA, headers=HEADERS),
    min_size=1,
    max_size=10,
)


@given(records=RECORDS, codec=st.sampled_from(Codec), base_offset=st.integers(0, 2**62))
def test_any_records_come_back_as_they_went_in(records, codec, base_offset):
    batch = build_batch(records, codec=codec, base_offset=base_offset)

    assert check_crc(batch)
    assert [record._replace(headers=list(record.headers)) for record in read_records(batch)] == [
        record._replace(offset=base_offset + i) for i, record in enumerate(records)
    ]


def test_offsets_that_records_carry_are_not_looked_at():
    records = [Record(offset=70, value=b"a"), Record(offset=3, value=b"b")]

    assert [r.offset for r in read_records(build_batch(records, base_offset=10))] == [10, 11]


def test_first_timestamp_is_the_base_and_the_latest_the_maximum():
    times = [T + 50, T + 90, T]

    header = read_header(build_batch([Record(timestamp=time, value=b"v") for time in times]))

    assert (header.base_timestamp, header.max_timestamp) == (T + 50, T + 90)


def test_records_may_come_from_a_generator():
    batch = build_batch(Record(value=b"%d" % i) for i in range(3))

    assert read_header(batch).count == 3


def test_batch_without_records_is_the_callers_mistake():
    with pytest.raises(AssertionError):
        build_batch([])


@pytest.mark.parametrize("before", Codec)
@pytest.mark.parametrize("after", Codec)
def test_another_codec_changes_nothing_but_the_bytes_of_the_records(before, after):
    batch = build_batch(
        many(),
        codec=before,
        base_offset=7,
        leader_epoch=2,
        producer_id=4001,
        producer_epoch=3,
        base_sequence=17,
        transactional=True,
    )

    rewritten = rewrite_codec(batch, after)

    old, new = read_header(batch), read_header(rewritten)
    assert check_crc(rewritten)
    assert new.codec is after
    assert list(read_records(rewritten)) == list(read_records(batch))
    assert new == old._replace(
        batch_length=len(rewritten) - 12, crc=new.crc, attributes=old.attributes & ~7 | after
    )


@given(key=st.binary(max_size=300), value=st.none() | st.binary(max_size=300), now=TIMESTAMPS)
def test_single_record_makes_the_same_batch_by_the_short_way(key, value, now):
    record = Record(timestamp=now, key=key, value=value)

    assert build_single(key, value, now) == build_batch([record], base_sequence=0)


def test_level_is_handed_to_the_codec():
    batch = build_batch(many())

    sizes = {len(rewrite_codec(batch, Codec.GZIP, level)) for level in (1, 9)}

    assert len(sizes) == 2


def test_rewriting_obeys_the_cap():
    bomb = build_batch([Record(value=bytes(100_000))], codec=Codec.GZIP)

    with pytest.raises(CorruptFrame):
        rewrite_codec(bomb, Codec.ZSTD, max_size=99_999)
