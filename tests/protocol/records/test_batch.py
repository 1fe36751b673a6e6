"""The header of a batch: what it says, and what a broker may change in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import (
    HEADER,
    HEADER_SIZE,
    BatchHeader,
    Codec,
    batches,
    check_crc,
    read_header,
    stamp,
    stamp_append_time,
)
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, read_records

T = 1_700_000_000_000


def a_batch(*, count: int = 3, base_offset: int = 0, **options) -> bytearray:
    records = [Record(timestamp=T + i, key=b"k", value=b"v%d" % i) for i in range(count)]
    return build_batch(records, base_offset=base_offset, **options)


def a_header(**fields: int) -> BatchHeader:
    return read_header(a_batch())._replace(**fields)


def test_header_has_the_size_that_kafka_gives_it():
    assert HEADER.size == HEADER_SIZE == 61


def test_header_is_read_at_any_position():
    batch = a_batch(
        base_offset=1234, leader_epoch=7, producer_id=9, producer_epoch=2, base_sequence=5
    )

    header = read_header(b"12345" + batch, 5)

    assert header == BatchHeader(
        base_offset=1234,
        batch_length=len(batch) - 12,
        leader_epoch=7,
        magic=2,
        crc=header.crc,
        attributes=0,
        last_offset_delta=2,
        base_timestamp=T,
        max_timestamp=T + 2,
        producer_id=9,
        producer_epoch=2,
        base_sequence=5,
        count=3,
    )
    assert (header.size, header.last_offset, header.last_sequence) == (len(batch), 1236, 7)


@pytest.mark.parametrize("size", range(HEADER_SIZE))
def test_too_few_bytes_for_a_header_are_corrupt(size):
    with pytest.raises(CorruptFrame):
        read_header(bytes(a_batch()[:size]))


@pytest.mark.parametrize("codec", Codec)
def test_attributes_say_codec_and_kind(codec):
    batch = a_batch(codec=codec, producer_id=1, producer_epoch=0, transactional=True, append_time=T)

    header = read_header(batch)

    assert header.codec is codec
    assert header.is_transactional
    assert header.is_log_append_time
    assert not header.is_control


@pytest.mark.parametrize("number", [5, 6, 7])
def test_codec_that_nobody_knows_is_corrupt(number):
    with pytest.raises(CorruptFrame):
        _ = a_header(attributes=number).codec


@pytest.mark.parametrize(
    ("base", "delta", "last"),
    [
        (0, 0, 0),
        (5, 9, 14),
        (2**31 - 1, 0, 2**31 - 1),
        (2**31 - 1, 1, 0),
        (2**31 - 3, 9, 6),
        (-1, 4, -1),
    ],
)
def test_sequences_wrap_to_zero_and_absent_ones_stay_absent(base, delta, last):
    assert a_header(base_sequence=base, last_offset_delta=delta).last_sequence == last


def test_delete_horizon_stands_in_the_base_timestamp_when_its_bit_is_set():
    assert a_header(attributes=0x40, base_timestamp=77).delete_horizon == 77
    assert a_header(attributes=0, base_timestamp=77).delete_horizon is None


def test_stamping_the_place_in_the_log_keeps_the_checksum_right():
    buffer = bytearray(b"....") + a_batch()

    stamp(buffer, 4, base_offset=99, leader_epoch=3)

    header = read_header(buffer, 4)
    assert (header.base_offset, header.leader_epoch) == (99, 3)
    assert check_crc(buffer[4:])


def test_append_time_becomes_the_time_of_every_record():
    buffer = bytearray(b"....") + a_batch() + b"...."

    stamp_append_time(buffer, 4, now=T + 500)

    batch = buffer[4:-4]
    assert check_crc(batch)
    assert read_header(batch).is_log_append_time
    assert {record.timestamp for record in read_records(batch)} == {T + 500}


@given(position=st.integers(21, len(a_batch()) - 1), change=st.integers(1, 255))
def test_any_changed_byte_from_the_attributes_on_breaks_the_checksum(position, change):
    batch = a_batch()

    batch[position] ^= change

    assert not check_crc(batch)


def test_checksum_of_less_than_a_header_is_wrong():
    assert not check_crc(b"")
    assert not check_crc(bytes(60))


def test_batches_are_found_one_behind_the_other():
    first, second = a_batch(count=2), a_batch(count=5, base_offset=2, codec=Codec.LZ4)

    found = list(batches(first + second))

    assert [(header.base_offset, bytes(view)) for header, view in found] == [
        (0, first),
        (2, second),
    ]


def test_no_data_holds_no_batches():
    assert list(batches(b"")) == []


def test_every_cut_in_the_last_batch_is_corrupt_unless_the_end_may_be_partial():
    first, second = a_batch(), a_batch(base_offset=3)
    for size in range(1, len(second)):
        data = first + second[:size]

        assert [bytes(view) for _, view in batches(data, partial_end=True)] == [first]
        with pytest.raises(CorruptFrame):
            list(batches(data))


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
@pytest.mark.parametrize("partial_end", [False, True])
def test_other_magic_is_not_a_batch(magic, partial_end):
    batch = a_batch()
    batch[16] = magic

    with pytest.raises(CorruptFrame):
        list(batches(batch, partial_end=partial_end))


@pytest.mark.parametrize("length", [-(2**31), -12, -1, 0, 48])
@pytest.mark.parametrize("partial_end", [False, True])
def test_length_below_that_of_a_header_is_corrupt(length, partial_end):
    batch = a_batch()
    batch[8:12] = length.to_bytes(4, "big", signed=True)

    with pytest.raises(CorruptFrame):
        list(batches(batch, partial_end=partial_end))
