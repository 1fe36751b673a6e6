"""Records out of a batch, one at a time.

Whatever the bytes are, the caller gets records or CorruptFrame. The checksum is not looked at here: the log
checks it once, when a batch comes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import (
    HEADER_SIZE,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    BytesLike,
    Codec,
    read_header,
)
from klamm.protocol.records.compression import decompress

# As much as a broker takes in one request by default, but decompressed.
MAX_DECOMPRESSED_SIZE = 100 * 1024 * 1024

Header = tuple[str, bytes | None]

_LONGEST_VARINT = 10
_MIN_INT64 = -(1 << 63)
_MAX_INT64 = (1 << 63) - 1


class Record(NamedTuple):
    """offset -1: not in a log yet."""

    offset: int = -1
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[Header] = ()


def read_records(batch: BytesLike, *, max_size: int = MAX_DECOMPRESSED_SIZE) -> Iterator[Record]:
    """The records of one batch, in order; compaction may have left gaps between their offsets.

    Header and compression are judged at the call, each record when its turn comes.
    """
    return _records(*open_batch(batch, max_size=max_size))


def read_keys(
    batch: BytesLike, *, max_size: int = MAX_DECOMPRESSED_SIZE
) -> Iterator[tuple[int, bytes | None]]:
    """Offset and key of each record; values and headers are skipped unread.

    For those who ask only about keys: a compacted topic refuses records without one.
    """
    return _keys(*open_batch(batch, max_size=max_size))


def open_batch(batch: BytesLike, *, max_size: int) -> tuple[BatchHeader, bytes]:
    """The header, once it makes sense, and the bytes of the records, decompressed but not looked at."""
    header = read_header(batch)
    if header.magic != MAGIC:
        raise CorruptFrame(f"magic {header.magic} is not a record batch")
    if header.size != len(batch):
        raise CorruptFrame(f"a batch of {header.size} bytes stands in {len(batch)}")
    if not 0 <= header.count <= header.last_offset_delta + 1:
        raise CorruptFrame(f"{header.count} records in {header.last_offset_delta + 1} offsets")
    records = memoryview(batch)[HEADER_SIZE:]
    # Compaction may leave nothing of a batch but its header, whatever codec it once had.
    if header.codec is Codec.NONE or not (records or header.count):
        # Not the view: indexing and slicing bytes is faster.
        return header, bytes(records)
    return header, decompress(header.codec, records, max_size)


def _records(header: BatchHeader, data: bytes) -> Iterator[Record]:
    append_time = header.max_timestamp if header.is_log_append_time else None
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    least, last = 0, header.last_offset_delta
    at = 0
    try:
        for _ in range(header.count):
            # The one-byte case of a varint is nearly every varint there is, so it is written out.
            raw = data[at]
            at += 1
            if raw > 127:
                raw, at = longer_varint(data, at, raw)
            end = at + ((raw >> 1) ^ -(raw & 1))
            at += 1  # The attributes of a record say nothing yet.
            raw = data[at]
            at += 1
            if raw > 127:
                raw, at = longer_varint(data, at, raw)
            timestamp = base_timestamp + ((raw >> 1) ^ -(raw & 1))
            raw = data[at]
            at += 1
            if raw > 127:
                raw, at = longer_varint(data, at, raw)
            delta = (raw >> 1) ^ -(raw & 1)
            if not least <= delta <= last:
                raise CorruptFrame(f"offset delta {delta} is not in {least} to {last}")
            least = delta + 1
            key, at = nullable(data, at)
            value, at = nullable(data, at)
            headers: Sequence[Header] = ()
            if data[at]:
                headers, at = _headers(data, at)
            else:
                at += 1
            if at != end:
                raise CorruptFrame(f"a record ends at byte {at}, not {end}")
            if append_time is not None:
                timestamp = append_time
            elif not _MIN_INT64 <= timestamp <= _MAX_INT64:
                raise CorruptFrame(f"timestamp {timestamp} does not fit 64 bits")
            yield Record(base_offset + delta, timestamp, key, value, headers)
    except IndexError:
        raise CorruptFrame("the records run past the end of the batch") from None
    check_end(data, at)


def _keys(header: BatchHeader, data: bytes) -> Iterator[tuple[int, bytes | None]]:
    least, last = 0, header.last_offset_delta
    at = 0
    try:
        for _ in range(header.count):
            raw = data[at]
            at += 1
            if raw > 127:
                raw, at = longer_varint(data, at, raw)
            end = at + ((raw >> 1) ^ -(raw & 1))
            raw = data[at + 1]
            at += 2
            if raw > 127:
                _, at = longer_varint(data, at, raw)
            raw = data[at]
            at += 1
            if raw > 127:
                raw, at = longer_varint(data, at, raw)
            delta = (raw >> 1) ^ -(raw & 1)
            if not least <= delta <= last:
                raise CorruptFrame(f"offset delta {delta} is not in {least} to {last}")
            least = delta + 1
            key, at = nullable(data, at)
            # A slice past the end is cut short without a word, so the ends are compared before it is used.
            if not at <= end <= len(data):
                raise CorruptFrame("a key runs past the end of its record")
            yield header.base_offset + delta, key
            at = end
    except IndexError:
        raise CorruptFrame("the records run past the end of the batch") from None
    check_end(data, at)


def check_end(data: bytes, at: int) -> None:
    if at != len(data):
        raise CorruptFrame(f"{len(data) - at} bytes are left over after the last record")


def nullable(data: bytes, at: int) -> tuple[bytes | None, int]:
    length = data[at]
    at += 1
    if length > 127:
        length, at = longer_varint(data, at, length)
    if length & 1:
        if length != 1:
            raise CorruptFrame(f"a length of {-(length >> 1) - 1}")
        return None, at
    end = at + (length >> 1)
    return data[at:end], end


def _headers(data: bytes, at: int) -> tuple[list[Header], int]:
    count, at = _varint(data, at)
    # A header takes two bytes at least: a count beyond that is refused before anything is built.
    if not 0 <= count <= (len(data) - at) // 2:
        raise CorruptFrame(f"{count} headers in {len(data) - at} bytes")
    headers: list[Header] = []
    for _ in range(count):
        name, at = nullable(data, at)
        if name is None:
            raise CorruptFrame("a header without a name")
        value, at = nullable(data, at)
        # The user's data, stored as it came: like Java, show what is not UTF-8 as well as it goes.
        headers.append((name.decode(errors="replace"), value))
    return headers, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    raw = data[at]
    at += 1
    if raw > 127:
        raw, at = longer_varint(data, at, raw)
    return (raw >> 1) ^ -(raw & 1), at


def longer_varint(data: bytes, at: int, first: int) -> tuple[int, int]:
    """The rest of a varint whose first byte announced more; still in zigzag form."""
    byte = data[at]
    at += 1
    raw = first & 0x7F | (byte & 0x7F) << 7
    if byte < 0x80:
        return raw, at
    for shift in range(14, 7 * _LONGEST_VARINT, 7):
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return raw, at
    raise CorruptFrame("a varint that does not end")
