"""Batches that no builder would build, piece by piece: for what a reader must refuse or bear."""

from collections.abc import Sequence

from klamm.protocol.records.batch import HEADER, HEADER_SIZE, LOG_OVERHEAD, MAGIC, stamp_crc


def varint(number: int) -> bytes:
    raw = number << 1 if number >= 0 else (-number << 1) - 1
    encoded = bytearray()
    while raw >= 0x80:
        encoded.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes([*encoded, raw])


def nullable(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def a_raw_record(
    *,
    length: bytes | None = None,
    timestamp_delta: bytes = b"\x00",
    offset_delta: int = 0,
    key: bytes = b"\x02k",
    value: bytes = b"\x02v",
    headers: bytes = b"\x00",
) -> bytes:
    body = b"\x00" + timestamp_delta + varint(offset_delta) + key + value + headers
    return (varint(len(body)) if length is None else length) + body


def a_raw_batch(
    records: Sequence[bytes],
    *,
    count: int | None = None,
    last_delta: int | None = None,
    attributes: int = 0,
    base_timestamp: int = 0,
) -> bytearray:
    count = len(records) if count is None else count
    last_delta = max(count - 1, 0) if last_delta is None else last_delta
    batch = bytearray(HEADER_SIZE) + b"".join(records)
    times, producer = (base_timestamp, base_timestamp), (-1, -1, -1)
    fields = (0, len(batch) - LOG_OVERHEAD, -1, MAGIC, 0, attributes, last_delta)
    HEADER.pack_into(batch, 0, *fields, *times, *producer, count)
    stamp_crc(batch, 0, len(batch))
    return batch
