"""The 61-byte header of a record batch (magic 2), and what a broker may change in it.

Nothing here looks at the records: the produce and fetch paths work on headers alone. The checksum covers
everything from the attributes on, so offset and leader epoch can be stamped without touching it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct, error
from typing import NamedTuple

from klamm.base.errors import CorruptFrame
from klamm.protocol.records.checksum import crc32c

BytesLike = bytes | bytearray | memoryview

MAGIC = 2
HEADER = Struct(">qiibIhiqqqhii")
HEADER_SIZE = 61
# Base offset and batch length: what the length itself does not count.
LOG_OVERHEAD = 12

# Positions of the fields that are read or rewritten on their own.
LENGTH_AT = 8
LEADER_EPOCH_AT = 12
MAGIC_AT = 16
CRC_AT = 17
ATTRIBUTES_AT = 21
MAX_TIMESTAMP_AT = 35
PRODUCER_ID_AT = 43

CODEC_MASK = 0x07
TIMESTAMP_TYPE = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
NO_LEADER_EPOCH = -1

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_UINT32 = Struct(">I")
_INT64 = Struct(">q")


class Codec(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_CODECS = tuple(Codec)


class PartialBatch(CorruptFrame):
    """The bytes end before the batch does."""


class BatchHeader(NamedTuple):
    """The header as it stands in the bytes; absent producer, sequence and timestamps stay -1."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    # Hides tuple.count, which nobody asks of a header.
    count: int  # type: ignore[assignment]

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """Sequences wrap from 2**31 - 1 to 0."""
        if self.base_sequence < 0:
            return self.base_sequence
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> Codec:
        number = self.attributes & CODEC_MASK
        if number >= len(_CODECS):
            raise CorruptFrame(f"no codec has the number {number}")
        return _CODECS[number]

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & TIMESTAMP_TYPE != 0

    @property
    def delete_horizon(self) -> int | None:
        """When the tombstones in the batch may go; the compactor keeps it in the base timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


def read_header(data: BytesLike, at: int = 0) -> BatchHeader:
    """Read, do not judge: whether length, magic and counts make sense is the caller's question."""
    try:
        # Straight to the tuple: BatchHeader._make would cost as much again.
        return tuple.__new__(BatchHeader, HEADER.unpack_from(data, at))
    except error:
        raise CorruptFrame(f"{len(data) - at} bytes cannot hold a batch header") from None


def batches(
    data: BytesLike, *, partial_end: bool = False
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The batches that stand back to back in data, each with a view of all its bytes.

    partial_end: as in answers to Fetch, the last batch may be cut off; it is then left out.
    """
    view = memoryview(data)
    end = len(view)
    at = 0
    while at < end:
        size = _size_of_batch(view, at)
        if size is None or at + size > end:
            if partial_end:
                return
            raise PartialBatch(f"the batch at byte {at} runs past the end of the data")
        yield read_header(view, at), view[at : at + size]
        at += size


def _size_of_batch(view: memoryview, at: int) -> int | None:
    """The size that the bytes claim, or None if too few are there to say."""
    if len(view) - at <= MAGIC_AT:
        return None
    if view[at + MAGIC_AT] != MAGIC:
        raise CorruptFrame(f"magic {view[at + MAGIC_AT]} is not a record batch")
    size: int = _INT32.unpack_from(view, at + LENGTH_AT)[0] + LOG_OVERHEAD
    if size < HEADER_SIZE:
        raise CorruptFrame(f"a batch of {size} bytes is shorter than its header")
    return size


def check_crc(batch: BytesLike) -> bool:
    """batch holds exactly one batch."""
    if len(batch) < HEADER_SIZE:
        return False
    stored: int = _UINT32.unpack_from(batch, CRC_AT)[0]
    return crc32c(memoryview(batch)[ATTRIBUTES_AT:]) == stored


def stamp(buffer: bytearray | memoryview, at: int, base_offset: int, leader_epoch: int) -> None:
    """Give the batch at this position its place in the log; the checksum does not cover these fields."""
    _INT64.pack_into(buffer, at, base_offset)
    _INT32.pack_into(buffer, at + LEADER_EPOCH_AT, leader_epoch)


def stamp_append_time(buffer: bytearray | memoryview, at: int, now: int) -> None:
    """Make the broker's clock the time of every record in the batch, and renew the checksum."""
    header = read_header(buffer, at)
    _INT16.pack_into(buffer, at + ATTRIBUTES_AT, header.attributes | TIMESTAMP_TYPE)
    _INT64.pack_into(buffer, at + MAX_TIMESTAMP_AT, now)
    stamp_crc(buffer, at, header.size)


def stamp_crc(buffer: bytearray | memoryview, at: int, size: int) -> None:
    crc = crc32c(memoryview(buffer)[at + ATTRIBUTES_AT : at + size])
    _UINT32.pack_into(buffer, at + CRC_AT, crc)
