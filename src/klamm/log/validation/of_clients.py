"""What a log asks of batches before it takes them, with the error codes of Kafka.

The append path checks the usual batch by itself, on the header alone. Whatever looks unusual comes here, where each
rule has its own line; a batch that is right after all goes back, trimmed or rewritten as the topic wants it.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.settings.topic import TopicSettings
from klamm.protocol.records.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    HEADER_SIZE,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE,
    BatchHeader,
    Codec,
    check_crc,
    read_header,
    stamp_append_time,
    stamp_crc,
)
from klamm.protocol.records.builder import rewrite_codec
from klamm.protocol.records.reader import Record, read_records

Writable = bytearray | memoryview

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_LONG_MAX = (1 << 63) - 1
# The smallest thing that could be a message of any format; below it the length itself is nonsense.
_MIN_LENGTH = 14
_SHOWN_ERRORS = 3
# Of the records to blame, the answer names so many.
_MOST_ERRORS = 10_000
# How much more than max.message.bytes a batch may hold when it is decompressed, and how many records it may have: at
# all, and where each must be looked at.
_MOST_INFLATION = 10
_LEAST_RECORD_BYTES = 7
_USUAL_RECORD_BYTES = 8
_LOOKED_AT = 100_000
# How compressed bytes begin. Raw snappy begins with nothing in particular, so it has no row.
_FIRST_BYTES = {
    Codec.GZIP: b"\x1f\x8b",
    Codec.LZ4: b"\x04\x22\x4d\x18",
    Codec.ZSTD: b"\x28\xb5\x2f\xfd",
}


class RecordError(NamedTuple):
    """A record that is to blame, by its place in the batch."""

    batch_index: int
    message: str


class RejectedRecords(ApiError):
    """Single records of the batch are to blame; the answer to a produce names them."""

    def __init__(self, code: ErrorCode, message: str, record_errors: list[RecordError]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


class NotABatch(ApiError):
    """The bytes are not one batch of today's format: refused before any rule of the topic is looked at."""


class Rules:
    """The settings of a topic as the checks need them, worked out once."""

    __slots__ = (
        "after_max_ms",
        "before_max_ms",
        "codec",
        "is_compacted",
        "is_special",
        "level",
        "max_bytes",
        "max_count",
        "max_inflated",
        "max_looked_at",
        "max_size",
        "name",
        "segment_bytes",
        "uses_append_time",
    )

    def __init__(self, name: str, settings: TopicSettings) -> None:
        self.name = name
        self.max_bytes = settings.max_message_bytes
        self.segment_bytes = settings.segment_bytes
        self.max_size = min(self.max_bytes, self.segment_bytes)
        # Deviation: Kafka decompresses and parses whatever it takes. A batch of a few bytes may claim two billion
        # records, or really hold fifteen million that are empty.
        self.max_inflated = _MOST_INFLATION * self.max_bytes
        self.max_count = self.max_inflated // _LEAST_RECORD_BYTES
        self.max_looked_at = max(_LOOKED_AT, self.max_bytes // _USUAL_RECORD_BYTES)
        self.before_max_ms = settings.message_timestamp_before_max_ms
        self.after_max_ms = settings.message_timestamp_after_max_ms
        self.is_compacted = "compact" in settings.cleanup_policy
        self.uses_append_time = settings.message_timestamp_type == "LogAppendTime"
        self.codec, self.level = _codec_of(settings)
        # A topic for which the header of a batch does not say enough.
        self.is_special = (
            self.is_compacted
            or self.uses_append_time
            or self.codec is not None
            or self.before_max_ms < _LONG_MAX
        )


def _codec_of(settings: TopicSettings) -> tuple[Codec | None, int | None]:
    """None: as the producer sent it."""
    match settings.compression_type:
        case "uncompressed":
            return Codec.NONE, None
        case "gzip":
            return Codec.GZIP, settings.compression_gzip_level
        case "snappy":
            return Codec.SNAPPY, None
        case "lz4":
            return Codec.LZ4, settings.compression_lz4_level
        case "zstd":
            return Codec.ZSTD, settings.compression_zstd_level
        case _:
            return None, None


def examine(data: Writable, rules: Rules, now: int) -> Writable:
    """Every check on a client's bytes, in Kafka's order. Returns the one batch to append, or raises."""
    batch = _only_batch(data)
    header = _check_header(batch, rules)
    _check_counts(header, rules)
    if rules.uses_append_time:
        batch = _to_append_time(batch, header, rules, now)
    elif header.is_log_append_time:
        # Whatever the producer believes: in this topic the time is the producer's.
        _INT16.pack_into(batch, ATTRIBUTES_AT, header.attributes & ~TIMESTAMP_TYPE)
        stamp_crc(batch, 0, len(batch))
    if _needs_records(header, rules, now):
        _check_records(batch, header, rules, now)
    if rules.codec is not None and header.codec is not rules.codec:
        batch = _recompress(batch, rules)
    if len(batch) > rules.segment_bytes:
        raise ApiError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"The batch has {len(batch)} bytes; a segment of this topic holds {rules.segment_bytes}.",
        )
    return batch


def _only_batch(data: Writable) -> Writable:
    """The first batch. Behind it only the beginning of another may stand, which is dropped as Kafka does."""
    size = _size_at(data, 0)
    if size is None:
        raise NotABatch(ErrorCode.INVALID_RECORD, "The request holds no whole record batch.")
    if data[MAGIC_AT] != MAGIC:
        raise NotABatch(ErrorCode.INVALID_RECORD, f"Batches have magic 2, not {data[MAGIC_AT]}.")
    if size < HEADER_SIZE:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"A batch cannot have {size} bytes.")
    if len(data) == size:
        return data
    if _size_at(data, size) is not None:
        raise NotABatch(ErrorCode.INVALID_RECORD, "A produce has exactly one batch per partition.")
    return memoryview(data)[:size]


def _size_at(data: Writable, at: int) -> int | None:
    """The size of the batch there; None if it is not whole. Raises for what cannot be a batch of any format."""
    left = len(data) - at
    if left < LOG_OVERHEAD:
        return None
    length: int = _INT32.unpack_from(data, at + LENGTH_AT)[0]
    if length < _MIN_LENGTH:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"A batch cannot have the length {length}.")
    if left <= MAGIC_AT:
        return None
    if data[at + MAGIC_AT] > MAGIC:
        raise NotABatch(ErrorCode.CORRUPT_MESSAGE, f"No batch has magic {data[at + MAGIC_AT]}.")
    size = length + LOG_OVERHEAD
    return size if size <= left else None


def _check_header(batch: Writable, rules: Rules) -> BatchHeader:
    header = read_header(batch)
    if header.base_offset != 0:
        raise ApiError(ErrorCode.INVALID_RECORD, f"The base offset is {header.base_offset}, not 0.")
    check_size(batch, rules)
    if not check_crc(batch):
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, "The checksum of the batch is wrong.")
    if header.attributes & CODEC_MASK > Codec.ZSTD:
        # Kafka stumbles here, and its clients know the code.
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "The batch has an unknown codec.")
    if not begins_as_its_codec(batch, header.attributes):
        raise ApiError(
            ErrorCode.INVALID_RECORD, "The records are not compressed as the batch says."
        )
    return header


def begins_as_its_codec(batch: Writable, attributes: int) -> bool:
    """A batch that only claims to be compressed would stop every consumer that meets it.

    # Deviation: Kafka decompresses each batch of a client and parses its records; here a look at the first bytes does.
    """
    expected = _FIRST_BYTES.get(attributes & CODEC_MASK)  # type: ignore[call-overload]
    return expected is None or batch[HEADER_SIZE : HEADER_SIZE + len(expected)] == expected


def check_size(batch: Writable, rules: Rules) -> None:
    """The one check of size that also holds for our own coordinators."""
    if len(batch) > rules.max_bytes:
        raise ApiError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The batch has {len(batch)} bytes; max.message.bytes is {rules.max_bytes}.",
        )


def _check_counts(header: BatchHeader, rules: Rules) -> None:
    if header.count > rules.max_count:
        raise ApiError(
            ErrorCode.INVALID_RECORD,
            f"The batch counts {header.count} records, more than a batch here can hold.",
        )
    if header.count <= 0 or header.count != header.last_offset_delta + 1:
        raise ApiError(
            ErrorCode.INVALID_RECORD,
            f"The batch counts {header.count} records and {header.last_offset_delta + 1} offsets.",
        )
    if header.is_control:
        raise ApiError(ErrorCode.INVALID_RECORD, "Clients may not write control batches.")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise ApiError(ErrorCode.INVALID_RECORD, "A batch with a producer id needs a sequence.")


def _to_append_time(batch: Writable, header: BatchHeader, rules: Rules, now: int) -> Writable:
    if header.is_log_append_time:
        errors = [
            RecordError(index, "Only the broker may set the timestamp type to LogAppendTime.")
            for index in range(min(header.count, _MOST_ERRORS))
        ]
        raise _bad_timestamps(errors)
    stamp_append_time(batch, 0, now)
    return batch


def _needs_records(header: BatchHeader, rules: Rules, now: int) -> bool:
    if rules.is_compacted:
        return True
    return not rules.uses_append_time and (
        rules.before_max_ms < _LONG_MAX or header.max_timestamp > now + rules.after_max_ms
    )


def _check_records(batch: Writable, header: BatchHeader, rules: Rules, now: int) -> None:
    if header.count > rules.max_looked_at:
        raise ApiError(
            ErrorCode.INVALID_RECORD,
            f"The batch has {header.count} records; {rules.max_looked_at} can be checked.",
        )
    try:
        records = list(read_records(batch, max_size=rules.max_inflated))
    except CorruptFrame as e:
        raise ApiError(ErrorCode.INVALID_RECORD, str(e)) from None
    if rules.is_compacted:
        _check_keys(records, rules)
    if rules.uses_append_time:
        return
    low, high = now - rules.before_max_ms, now + rules.after_max_ms
    late = [
        RecordError(index, f"Timestamp {record.timestamp} is outside {low} to {high}.")
        for index, record in enumerate(records)
        if record.timestamp != NO_TIMESTAMP and not low <= record.timestamp <= high
    ]
    if late:
        raise _bad_timestamps(late)
    newest = max(record.timestamp for record in records)
    if newest != header.max_timestamp:
        # The header claimed another time than its records have: they are right.
        _INT64.pack_into(batch, MAX_TIMESTAMP_AT, newest)
        stamp_crc(batch, 0, len(batch))


def _check_keys(records: list[Record], rules: Rules) -> None:
    message = f"Compacted topic cannot accept message without key in topic partition {rules.name}"
    errors = [
        RecordError(index, message) for index, record in enumerate(records) if record.key is None
    ]
    if errors:
        shown = "; ".join(f"{e.batch_index}: {e.message}" for e in errors[:_SHOWN_ERRORS])
        raise RejectedRecords(
            ErrorCode.INVALID_RECORD,
            f"{len(errors)} records were rejected: {shown}",
            errors[:_MOST_ERRORS],
        )


def _bad_timestamps(errors: list[RecordError]) -> RejectedRecords:
    # The sentence of Kafka: tools show it.
    message = "One or more records have been rejected due to invalid timestamp"
    return RejectedRecords(ErrorCode.INVALID_TIMESTAMP, message, errors[:_MOST_ERRORS])


def _recompress(batch: Writable, rules: Rules) -> Writable:
    assert rules.codec is not None
    try:
        rewritten = rewrite_codec(batch, rules.codec, rules.level, max_size=rules.max_inflated)
    except CorruptFrame as e:
        raise ApiError(ErrorCode.INVALID_RECORD, str(e)) from None
    check_size(rewritten, rules)
    return rewritten


# Batches that no client sent -------------------------------------------------------------------
