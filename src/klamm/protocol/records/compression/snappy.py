"""Snappy, raw and in the block framing of xerial's Java library, which Kafka writes.

Each block says first how long it will be. So the whole size is known, and refused if too large, before a byte
is allocated; then every block is decompressed to its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from struct import Struct

import cramjam

from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import BytesLike

# Magic, version, oldest version that can read it.
_XERIAL_HEADER = b"\x82SNAPPY\x00" + bytes((0, 0, 0, 1)) * 2
_XERIAL_MAGIC = _XERIAL_HEADER[:8]
# Where a block's length should stand, these four bytes say that another stream begins: its header follows.
_XERIAL_RESTART = int.from_bytes(_XERIAL_MAGIC[:4], "big")
_BLOCK_SIZE = 32 * 1024
_LENGTH = Struct(">I")

# The shortest element is a copy of 64 bytes in 3: a block that claims more than this ratio is lying.
_LARGEST_RATIO = 64


def compress(data: BytesLike) -> bytes:
    view = memoryview(data)
    framed = bytearray(_XERIAL_HEADER)
    for at in range(0, len(view), _BLOCK_SIZE):
        block = bytes(cramjam.snappy.compress_raw(view[at : at + _BLOCK_SIZE]))
        framed += _LENGTH.pack(len(block))
        framed += block
    return bytes(framed)


def decompress(data: memoryview, max_size: int) -> bytes:
    # The blocks are walked twice rather than kept: a million empty ones must not cost a million objects.
    size = 0
    for block in _blocks(data):
        size += _size_of(block)
        if size > max_size:
            raise CorruptFrame(f"more than {max_size} decompressed bytes")
    if size == 0:
        return b""
    # A BytesIO of the final size hands its buffer over as bytes; a bytearray would have to be copied.
    whole = BytesIO()
    whole.seek(size - 1)
    whole.write(b"\0")
    with whole.getbuffer() as places:
        at = 0
        for block in _blocks(data):
            at += _decompress_block(block, places[at : at + _size_of(block)])
    return whole.getvalue()


def _blocks(data: memoryview) -> Iterator[memoryview]:
    return _xerial_blocks(data) if data[:8] == _XERIAL_MAGIC else iter((data,))


def _xerial_blocks(data: memoryview) -> Iterator[memoryview]:
    at = len(_XERIAL_HEADER)
    if len(data) < at:
        raise CorruptFrame("the snappy header is cut off")
    while at < len(data):
        if len(data) - at < _LENGTH.size:
            raise CorruptFrame("a snappy block's length is cut off")
        (length,) = _LENGTH.unpack_from(data, at)
        if length == _XERIAL_RESTART and data[at : at + 8] == _XERIAL_MAGIC:
            at += len(_XERIAL_HEADER)
            continue
        at += _LENGTH.size
        if length > len(data) - at:
            raise CorruptFrame("a snappy block runs past the end")
        yield data[at : at + length]
        at += length


def _size_of(block: memoryview) -> int:
    if not block:
        raise CorruptFrame("no snappy block in no bytes")
    try:
        size: int = cramjam.snappy.decompress_raw_len(block)
    except cramjam.DecompressionError as problem:
        raise CorruptFrame(f"not snappy: {problem}") from None
    # The library looks no further than a size of nothing.
    if size > _LARGEST_RATIO * len(block) or (size == 0 and len(block) > 1):
        raise CorruptFrame(f"{len(block)} bytes of snappy cannot hold {size}")
    return size


def _decompress_block(block: memoryview, place: memoryview) -> int:
    try:
        written: int = cramjam.snappy.decompress_raw_into(block, place)
    except cramjam.DecompressionError as problem:
        raise CorruptFrame(f"not snappy: {problem}") from None
    if written != len(place):
        raise CorruptFrame(f"a snappy block held {written} bytes, not {len(place)}")
    return written
