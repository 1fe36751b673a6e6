"""Batches out of records, byte for byte as Java's client builds them, save what a codec's library makes of it."""

from __future__ import annotations

from collections.abc import Iterable

from klamm.protocol.records.batch import (
    CODEC_MASK,
    CONTROL,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TIMESTAMP_TYPE,
    TRANSACTIONAL,
    BatchHeader,
    BytesLike,
    Codec,
    stamp_crc,
)
from klamm.protocol.records.compression import compress
from klamm.protocol.records.reader import MAX_DECOMPRESSED_SIZE, Record, open_batch


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    append_time: int | None = None,
) -> bytearray:
    """Number the records from base_offset on; the offsets they may carry already are not looked at.

    append_time: the broker's time, which then stands for the time of every record.
    """
    payload = bytearray()
    base_timestamp = max_timestamp = None
    count = 0
    for record in records:
        timestamp = record.timestamp
        if base_timestamp is None or max_timestamp is None:
            base_timestamp = max_timestamp = timestamp
        elif timestamp > max_timestamp:
            max_timestamp = timestamp
        _append_record(payload, record, timestamp - base_timestamp, count)
        count += 1
    assert base_timestamp is not None, "a batch has records"
    assert max_timestamp is not None

    attributes = codec | (TRANSACTIONAL if transactional else 0) | (CONTROL if control else 0)
    if append_time is not None:
        attributes |= TIMESTAMP_TYPE
        max_timestamp = append_time
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=count - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        count=count,
    )
    return assemble(header, payload if codec is Codec.NONE else compress(codec, payload, level))


def build_single(key: bytes, value: bytes | None, timestamp: int) -> bytearray:
    """What build_batch makes of one record without headers, with sequence 0 and no producer; in a third of the time."""
    body = b"\0\0\0" + varint(len(key)) + key
    body += b"\x01\0" if value is None else varint(len(value)) + value + b"\0"
    size = varint(len(body))
    batch = bytearray(
        HEADER.pack(
            0, HEADER_SIZE - LOG_OVERHEAD + len(size) + len(body), NO_LEADER_EPOCH, MAGIC, 0, 0, 0,
            timestamp, timestamp, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, 0, 1,
        )
    )  # fmt: skip
    batch += size
    batch += body
    stamp_crc(batch, 0, len(batch))
    return batch


def rewrite_codec(
    batch: BytesLike,
    codec: Codec,
    level: int | None = None,
    max_size: int = MAX_DECOMPRESSED_SIZE,
) -> bytearray:
    """The same batch under another codec; the records' bytes stay as they are."""
    header, payload = open_batch(batch, max_size=max_size)
    attributes = header.attributes & ~CODEC_MASK | codec
    return assemble(header._replace(attributes=attributes), compress(codec, payload, level))


def assemble(header: BatchHeader, payload: BytesLike) -> bytearray:
    """Header and payload as one batch; length and checksum are made here."""
    size = HEADER_SIZE + len(payload)
    batch = bytearray(HEADER_SIZE)
    batch += payload
    HEADER.pack_into(batch, 0, *header._replace(batch_length=size - LOG_OVERHEAD))
    stamp_crc(batch, 0, size)
    return batch


def _append_record(
    payload: bytearray, record: Record, timestamp_delta: int, offset_delta: int
) -> None:
    _, _, key, value, headers = record
    body = bytearray(1)  # The attributes of a record say nothing yet.
    body += varint(timestamp_delta)
    body += varint(offset_delta)
    _append_nullable(body, key)
    _append_nullable(body, value)
    body += varint(len(headers))
    for name, header_value in headers:
        _append_nullable(body, name.encode())
        _append_nullable(body, header_value)
    payload += varint(len(body))
    payload += body


def _append_nullable(body: bytearray, data: BytesLike | None) -> None:
    if data is None:
        body += _VARINT_OF_NULL
    else:
        body += varint(len(data))
        body += data


def varint(number: int) -> bytes:
    if 0 <= number < _COMMON:
        return _VARINTS[number]
    return _encode_varint(number)


def _encode_varint(number: int) -> bytes:
    raw = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while raw > 127:
        encoded.append(raw & 0x7F | 0x80)
        raw >>= 7
    encoded.append(raw)
    return bytes(encoded)


# Lengths and deltas are small and never negative in nearly all records: those come from a table.
_COMMON = 1024
_VARINTS = tuple(_encode_varint(number) for number in range(_COMMON))
_VARINT_OF_NULL = _encode_varint(-1)
