"""What a leader answers to every kind of wrong batch. The codes were asked of a real 4.3.1 broker."""

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.log.validation.of_clients import RecordError, RejectedRecords
from klamm.protocol.records.batch import (
    ATTRIBUTES_AT,
    CONTROL,
    CRC_AT,
    LENGTH_AT,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    TIMESTAMP_TYPE,
    Codec,
)
from klamm.testing.disk import MemoryDisk
from log.samples import NOW, a_batch, a_log, append, headers_of, settings, values_of, with_field

HOUR = 3_600_000
LAST_DELTA_AT = 23
BASE_TIMESTAMP_AT = 27
COUNT_AT = 57
THREE = a_batch(b"a", b"b", b"c")
SIZE = len(THREE)


def code_of(data: bytearray, **topic: object) -> ErrorCode:
    log = a_log(MemoryDisk(), settings(**topic))
    with pytest.raises(ApiError) as caught:
        append(log, data)
    assert log.end_offset == 0
    assert log.size_bytes() == 0
    return caught.value.code


def both(batch: bytearray, form: str, value: int, *positions: int) -> bytearray:
    for position in positions:
        batch = with_field(batch, position, form, value)
    return batch


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (bytearray(), ErrorCode.INVALID_RECORD),
        (THREE[:5], ErrorCode.INVALID_RECORD),
        (THREE[:16], ErrorCode.INVALID_RECORD),
        (THREE[:60], ErrorCode.INVALID_RECORD),
        (THREE[:-1], ErrorCode.INVALID_RECORD),
        (with_field(THREE, LENGTH_AT, ">i", SIZE, crc=False), ErrorCode.INVALID_RECORD),
        (with_field(THREE, LENGTH_AT, ">i", SIZE - 13, crc=False), ErrorCode.CORRUPT_MESSAGE),
        (with_field(THREE, LENGTH_AT, ">i", 48, crc=False), ErrorCode.CORRUPT_MESSAGE),
        (with_field(THREE, LENGTH_AT, ">i", 13, crc=False), ErrorCode.CORRUPT_MESSAGE),
        (with_field(THREE, LENGTH_AT, ">i", -1, crc=False), ErrorCode.CORRUPT_MESSAGE),
        (with_field(THREE, MAGIC_AT, ">b", 0), ErrorCode.INVALID_RECORD),
        (with_field(THREE, MAGIC_AT, ">b", 1), ErrorCode.INVALID_RECORD),
        (with_field(THREE, MAGIC_AT, ">b", 3), ErrorCode.CORRUPT_MESSAGE),
        (with_field(THREE, MAGIC_AT, ">b", -1), ErrorCode.CORRUPT_MESSAGE),
        (with_field(THREE, CRC_AT, ">I", 1, crc=False), ErrorCode.CORRUPT_MESSAGE),
        (THREE + b"x" * 30, ErrorCode.CORRUPT_MESSAGE),
        (THREE + bytes(17), ErrorCode.CORRUPT_MESSAGE),
        (THREE + THREE, ErrorCode.INVALID_RECORD),
    ],
    ids=lambda value: value.name if isinstance(value, ErrorCode) else str(len(value)),
)
def test_bytes_that_are_not_one_whole_batch_are_refused(data: bytearray, code: ErrorCode):
    assert code_of(data) is code


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (with_field(THREE, 0, ">q", 5), ErrorCode.INVALID_RECORD),
        (with_field(THREE, COUNT_AT, ">i", 4), ErrorCode.INVALID_RECORD),
        (both(THREE, ">i", 0, COUNT_AT), ErrorCode.INVALID_RECORD),
        (with_field(THREE, COUNT_AT, ">i", -1), ErrorCode.INVALID_RECORD),
        (with_field(THREE, LAST_DELTA_AT, ">i", 3), ErrorCode.INVALID_RECORD),
        (with_field(THREE, ATTRIBUTES_AT, ">h", CONTROL), ErrorCode.INVALID_RECORD),
        (with_field(THREE, ATTRIBUTES_AT, ">h", 5), ErrorCode.UNKNOWN_SERVER_ERROR),
        (with_field(THREE, ATTRIBUTES_AT, ">h", 7), ErrorCode.UNKNOWN_SERVER_ERROR),
        (a_batch(producer=(7, 0, -1)), ErrorCode.INVALID_RECORD),
    ],
)
def test_headers_that_contradict_themselves_are_refused(data: bytearray, code: ErrorCode):
    assert code_of(data) is code


@pytest.mark.parametrize("rest", [b"x", b"x" * 16, bytes(THREE[:50])])
def test_the_beginning_of_another_batch_is_dropped(rest: bytes):
    log = a_log(MemoryDisk())

    append(log, THREE + rest)

    assert log.size_bytes() == SIZE
    assert values_of(log) == {0: b"a", 1: b"b", 2: b"c"}


def test_size_is_judged_before_the_checksum():
    batch = with_field(a_batch(b"x" * 200), CRC_AT, ">I", 1, crc=False)

    assert code_of(batch, max_message_bytes=200) is ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_of_exactly_the_largest_size_is_taken():
    log = a_log(MemoryDisk(), settings(max_message_bytes=SIZE))

    assert append(log, bytearray(THREE)).last_offset == 2
    assert code_of(bytearray(THREE), max_message_bytes=SIZE - 1) is ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_larger_than_a_segment_is_refused():
    assert code_of(a_batch(b"x" * 600), segment_bytes=500) is ErrorCode.RECORD_LIST_TOO_LARGE


# Time


@pytest.mark.parametrize("at", [NOW + HOUR + 1, NOW + 2 * HOUR])
def test_a_time_too_far_ahead_is_refused_and_names_the_records(at: int):
    log = a_log(MemoryDisk())

    with pytest.raises(RejectedRecords) as caught:
        append(log, a_batch(b"a", b"b", at=at))

    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in caught.value.record_errors] == [0, 1]


def test_a_time_too_far_back_is_refused_where_the_topic_says_so():
    old = a_batch(at=NOW - 2000)

    assert code_of(old, message_timestamp_before_max_ms=1000) is ErrorCode.INVALID_TIMESTAMP
    assert append(a_log(MemoryDisk()), a_batch(at=NOW - 2000)).base_offset == 0


@pytest.mark.parametrize("at", [NOW + HOUR, 0, -1])
def test_other_times_are_taken(at: int):
    log = a_log(MemoryDisk())

    append(log, a_batch(at=at))

    assert headers_of(log)[0].max_timestamp == at


def test_a_header_that_claims_a_later_time_than_its_records_is_corrected():
    log = a_log(MemoryDisk())

    append(log, with_field(THREE, MAX_TIMESTAMP_AT, ">q", NOW + 2 * HOUR))

    assert headers_of(log)[0].max_timestamp == NOW


def test_with_append_time_the_clock_of_the_broker_counts():
    log = a_log(MemoryDisk(), settings(message_timestamp_type="LogAppendTime"))

    appended = append(log, a_batch(at=NOW + 9 * HOUR), now=NOW + 5)

    header = headers_of(log)[0]
    assert appended.append_time == NOW + 5
    assert (header.max_timestamp, header.is_log_append_time) == (NOW + 5, True)


def test_only_the_broker_may_claim_append_time():
    claimed = with_field(THREE, ATTRIBUTES_AT, ">h", TIMESTAMP_TYPE)

    code = code_of(bytearray(claimed), message_timestamp_type="LogAppendTime")
    log = a_log(MemoryDisk())
    append(log, claimed)

    assert code is ErrorCode.INVALID_TIMESTAMP
    assert not headers_of(log)[0].is_log_append_time


# Topics that look into the records


def test_a_compacted_topic_refuses_records_without_a_key():
    log = a_log(MemoryDisk(), settings(cleanup_policy=("compact",)))

    with pytest.raises(RejectedRecords) as caught:
        append(log, a_batch(b"a", b"b"))

    message = "Compacted topic cannot accept message without key in topic partition orders-0"
    assert caught.value.code is ErrorCode.INVALID_RECORD
    assert caught.value.record_errors == [RecordError(0, message), RecordError(1, message)]
    assert append(log, a_batch(b"a", key=b"k")).base_offset == 0


def test_a_compacted_topic_refuses_records_that_are_nonsense():
    nonsense = with_field(a_batch(b"abcdef", key=b"k"), 61, ">B", 0xFF)

    assert code_of(nonsense, cleanup_policy=("compact",)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    ("compression_type", "codec"),
    [("gzip", Codec.GZIP), ("lz4", Codec.LZ4), ("zstd", Codec.ZSTD), ("snappy", Codec.SNAPPY)],
)
def test_a_topic_with_a_codec_of_its_own_rewrites_batches(compression_type: str, codec: Codec):
    log = a_log(MemoryDisk(), settings(compression_type=compression_type))

    append(log, a_batch(b"a" * 100, b"b" * 100))
    append(log, a_batch(b"c" * 100, codec=codec))

    assert [header.codec for header in headers_of(log)] == [codec, codec]
    assert values_of(log) == {0: b"a" * 100, 1: b"b" * 100, 2: b"c" * 100}


def test_a_topic_without_compression_unpacks_batches():
    log = a_log(MemoryDisk(), settings(compression_type="uncompressed"))

    append(log, a_batch(b"a" * 100, codec=Codec.GZIP))

    assert headers_of(log)[0].codec is Codec.NONE
    assert values_of(log) == {0: b"a" * 100}


def test_a_changed_setting_counts_from_the_next_batch_on():
    log = a_log(MemoryDisk())
    append(log, a_batch(b"x" * 200))

    log.reconfigure(settings(max_message_bytes=200))

    with pytest.raises(ApiError, check=lambda e: e.code is ErrorCode.MESSAGE_TOO_LARGE):
        append(log, a_batch(b"x" * 200))
