"""Batches with some of their records taken out, as compaction leaves them.

What stays keeps its offset, its timestamp and its bytes; the batch keeps its offsets, its producer, its sequence and
its codec. Only the header knows that records are missing: the count is smaller than the offsets it spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON,
    NO_TIMESTAMP,
    BatchHeader,
    Codec,
)
from klamm.protocol.records.builder import assemble, varint
from klamm.protocol.records.compression import compress
from klamm.protocol.records.reader import check_end, longer_varint, nullable


class RawRecord(NamedTuple):
    """A record as a piece of its batch's decompressed payload."""

    offset: int
    key: bytes | None
    is_tombstone: bool
    timestamp: int
    # Where it begins, where what follows its timestamp begins, and where it ends.
    start: int
    rest: int
    end: int


def raw_records(header: BatchHeader, payload: bytes) -> Iterator[RawRecord]:
    """The records of an opened batch, values and headers unread. Raises CorruptFrame where they make no sense."""
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    least, last, size = 0, header.last_offset_delta, len(payload)
    at = 0
    try:
        for _ in range(header.count):
            start = at
            raw = payload[at]
            at += 1
            if raw > 127:
                raw, at = longer_varint(payload, at, raw)
            end = at + ((raw >> 1) ^ -(raw & 1))
            at += 1  # The attributes of a record say nothing yet.
            raw = payload[at]
            at += 1
            if raw > 127:
                raw, at = longer_varint(payload, at, raw)
            timestamp = base_timestamp + ((raw >> 1) ^ -(raw & 1))
            rest = at
            raw = payload[at]
            at += 1
            if raw > 127:
                raw, at = longer_varint(payload, at, raw)
            delta = (raw >> 1) ^ -(raw & 1)
            if not least <= delta <= last:
                raise CorruptFrame(f"offset delta {delta} is not in {least} to {last}")
            least = delta + 1
            key, at = nullable(payload, at)
            # A slice past the end is cut short without a word, so the ends are compared before it is used.
            if not at < end <= size:
                raise CorruptFrame("a key runs past the end of its record")
            # Minus one in zigzag form is 1, and no other length is odd.
            yield tuple.__new__(
                RawRecord,
                (base_offset + delta, key, payload[at] == 1, timestamp, start, rest, end),
            )
            at = end
    except IndexError:
        raise CorruptFrame("the records run past the end of the batch") from None
    check_end(payload, at)


def without_others(
    header: BatchHeader,
    payload: bytes,
    kept: Sequence[RawRecord],
    *,
    delete_horizon: int | None = None,
) -> bytearray:
    """The batch with these of its records and no others; at least one.

    delete_horizon: when the tombstones, or the marker, in it may go. It takes the place of the base timestamp, so the
    records get new deltas. A horizon that the batch has already stays.
    """
    attributes, base_timestamp = header.attributes, header.base_timestamp
    if delete_horizon is None:
        body = b"".join([payload[record.start : record.end] for record in kept])
    else:
        attributes |= DELETE_HORIZON
        base_timestamp = delete_horizon
        body = b"".join([_moved(payload, record, delete_horizon) for record in kept])
    max_timestamp = header.max_timestamp
    if not header.is_log_append_time:
        max_timestamp = max(record.timestamp for record in kept)
    changed = header._replace(
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        count=len(kept),
    )
    return assemble(changed, body if header.codec is Codec.NONE else compress(header.codec, body))


def _moved(payload: bytes, record: RawRecord, base_timestamp: int) -> bytes:
    """The record's bytes under another base timestamp."""
    delta = varint(record.timestamp - base_timestamp)
    length = 1 + len(delta) + record.end - record.rest
    return b"".join((varint(length), b"\0", delta, payload[record.rest : record.end]))


def emptied(header: BatchHeader) -> bytearray:
    """The batch without records: what is left says which offsets and sequences were used."""
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON)
    return assemble(
        header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, count=0), b""
    )
