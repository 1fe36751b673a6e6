"""gzip and LZ4 frames as streams of small pieces, so that a bomb is noticed before it has grown.

Input goes in by small chunks too: both libraries copy what they have not yet consumed at every call, which for
a large input would cost its square.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from io import BytesIO

from lz4.frame import LZ4FrameDecompressor

from klamm.base.errors import CorruptFrame

_CHUNK = 16 * 1024
_PIECE = 64 * 1024
_GZIP_WBITS = 31


def collect(pieces: Iterable[bytes], max_size: int) -> bytes:
    """Join the pieces; CorruptFrame as soon as they are more than max_size bytes."""
    # BytesIO grows in place and hands its buffer over as bytes; a list of pieces would be held twice.
    whole = BytesIO()
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > max_size:
            raise CorruptFrame(f"more than {max_size} decompressed bytes")
        whole.write(piece)
    return whole.getvalue()


def gzip_pieces(data: memoryview) -> Iterator[bytes]:
    """Like Java, read members that follow one another as one stream."""
    if not data:
        raise CorruptFrame("no gzip stream in no bytes")
    at = 0
    while at < len(data):
        member = zlib.decompressobj(wbits=_GZIP_WBITS)
        while not member.eof:
            chunk = member.unconsumed_tail or data[at : at + _CHUNK]
            if not member.unconsumed_tail:
                at += len(chunk)
            try:
                piece = member.decompress(chunk, _PIECE)
            except zlib.error as problem:
                raise CorruptFrame(f"not gzip: {problem}") from None
            # Without input the member may still have output in store, but not for ever.
            if not chunk and not piece and not member.eof:
                raise CorruptFrame("the gzip stream ends early")
            yield piece
        at -= len(member.unused_data)


def lz4_pieces(data: memoryview) -> Iterator[bytes]:
    """Like Java, read one frame, and nothing may follow it."""
    frame = LZ4FrameDecompressor()
    at = 0
    while not frame.eof:
        chunk = data[at : at + _CHUNK] if frame.needs_input else data[:0]
        if frame.needs_input and not chunk:
            raise CorruptFrame("the LZ4 frame ends early")
        at += len(chunk)
        try:
            yield frame.decompress(chunk, _PIECE)
        except RuntimeError as problem:
            raise CorruptFrame(f"not LZ4: {problem}") from None
    if frame.unused_data or at < len(data):
        raise CorruptFrame("bytes are left over after the LZ4 frame")
