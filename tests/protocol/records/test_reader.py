"""Records out of a batch."""

import pytest

from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import Codec, read_header
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, open_batch, read_keys, read_records
from protocol.records.raw import a_raw_batch, a_raw_record, nullable, varint
from protocol.records.samples import SAMPLES

T = 1_700_000_000_000


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_what_was_built_is_read(sample):
    assert [
        record._replace(headers=list(record.headers)) for record in read_records(sample.build())
    ] == [record._replace(headers=list(record.headers)) for record in sample.records]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_keys_are_read_without_the_rest(sample):
    expected = [(record.offset, record.key) for record in sample.records]

    assert list(read_keys(sample.build())) == expected


def test_records_are_bytes_whatever_holds_the_batch():
    batch = build_batch([Record(key=b"k", value=b"v")])

    for held in (batch, bytes(batch), memoryview(batch)):
        assert list(read_records(held)) == [Record(0, -1, b"k", b"v")]
        assert type(next(read_records(held)).value) is bytes


def test_empty_key_is_not_a_null_key():
    batch = build_batch([Record(key=b""), Record(key=None)])

    assert list(read_keys(batch)) == [(0, b""), (1, None)]


def test_name_of_a_header_that_is_not_utf_8_is_shown_as_java_shows_it():
    record = a_raw_record(headers=varint(1) + nullable(b"na\xffme") + nullable(b"v"))

    (read,) = read_records(a_raw_batch([record]))

    assert read.headers == [("na\ufffdme", b"v")]


def test_compacted_batch_keeps_its_offsets_with_gaps_between():
    batch = a_raw_batch([a_raw_record(offset_delta=2), a_raw_record(offset_delta=7)], last_delta=9)

    assert [record.offset for record in read_records(batch)] == [2, 7]


@pytest.mark.parametrize("codec", Codec)
def test_compaction_may_leave_a_batch_without_records(codec):
    batch = a_raw_batch([], last_delta=9, attributes=codec)

    assert list(read_records(batch)) == []
    assert list(read_keys(batch)) == []


def test_records_come_one_at_a_time_and_the_bad_one_in_its_turn():
    records = read_records(
        a_raw_batch([a_raw_record(offset_delta=0), b"\x7fgarbage"], last_delta=1)
    )

    assert next(records).offset == 0
    with pytest.raises(CorruptFrame):
        next(records)


def test_longer_form_of_a_number_is_read_as_in_java():
    overlong_null_key = b"\x81\x00"

    (record,) = read_records(a_raw_batch([a_raw_record(key=overlong_null_key)]))

    assert record.key is None


def test_more_than_the_cap_is_refused_at_the_call():
    batch = build_batch([Record(value=bytes(10_000))], codec=Codec.ZSTD)

    assert read_header(batch).size < 200
    assert open_batch(batch, max_size=10_100)
    for read in (read_records, read_keys):
        with pytest.raises(CorruptFrame):
            read(batch, max_size=9_999)


ENDLESS = b"\x80" * 12

BAD_RECORDS = {
    "length too short": a_raw_record(length=varint(3)),
    "length too long": a_raw_record(length=varint(100)),
    "negative length": a_raw_record(length=varint(-5)),
    "endless length": a_raw_record(length=ENDLESS),
    "endless timestamp delta": a_raw_record(timestamp_delta=ENDLESS),
    "timestamp beyond 64 bits": a_raw_record(timestamp_delta=varint(2**63 - 1)),
    "negative offset delta": a_raw_record(offset_delta=-1),
    "offset delta beyond the last": a_raw_record(offset_delta=1),
    "key length below null": a_raw_record(key=varint(-2)),
    "key past the end": a_raw_record(key=varint(1000) + b"k"),
    "value length below null": a_raw_record(value=varint(-7)),
    "value past the end": a_raw_record(value=varint(2**40)),
    "negative count of headers": a_raw_record(headers=varint(-1)),
    "more headers than bytes": a_raw_record(headers=varint(2**30)),
    "header without a name": a_raw_record(headers=varint(1) + nullable(None) + nullable(b"v")),
    "nothing": b"",
}


@pytest.mark.parametrize("bad", BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_record_that_makes_no_sense_is_corrupt(bad):
    with pytest.raises(CorruptFrame):
        list(read_records(a_raw_batch([bad], base_timestamp=T)))


def test_offsets_that_do_not_rise_are_corrupt():
    batch = a_raw_batch([a_raw_record(offset_delta=1), a_raw_record(offset_delta=1)], last_delta=3)

    for read in (read_records, read_keys):
        with pytest.raises(CorruptFrame):
            list(read(batch))


@pytest.mark.parametrize("count", [-1, 0, 1, 3, 2**31 - 1])
def test_count_that_is_not_the_number_of_records_is_corrupt(count):
    batch = a_raw_batch([a_raw_record(), a_raw_record(offset_delta=1)], count=count, last_delta=9)

    for read in (read_records, read_keys):
        with pytest.raises(CorruptFrame):
            list(read(batch))


@pytest.mark.parametrize("last_delta", [-(2**31), -1, 0])
def test_more_records_than_offsets_are_corrupt(last_delta):
    batch = a_raw_batch([a_raw_record(), a_raw_record(offset_delta=1)], last_delta=last_delta)

    with pytest.raises(CorruptFrame):
        read_records(batch)


@pytest.mark.parametrize("extra", [b"\x00", b"\x00" * 100])
def test_bytes_left_over_are_corrupt(extra):
    batch = a_raw_batch([a_raw_record(), extra], count=1)

    for read in (read_records, read_keys):
        with pytest.raises(CorruptFrame):
            list(read(batch))


def test_view_must_hold_exactly_one_batch():
    batch = bytes(build_batch([Record(value=b"v")]))

    for data in (batch[:-1], batch + b"\x00", batch + batch):
        with pytest.raises(CorruptFrame):
            read_records(data)


def test_batch_of_an_old_format_is_corrupt():
    batch = build_batch([Record(value=b"v")])
    batch[16] = 1

    with pytest.raises(CorruptFrame):
        read_records(batch)
