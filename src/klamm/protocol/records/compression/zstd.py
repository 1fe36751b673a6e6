"""Zstandard frames, decompressed within a bound.

The library keeps a window of the output beside the output itself, unless the frame says how long it will be:
then it writes straight to its place. Java's frames do not say, and their window may be as large as 128 MiB
(levels 20 and up). So the size of such a frame is counted first, and written into its header.
"""

from __future__ import annotations

import zstandard

from klamm.base.errors import CorruptFrame

# What a frame may keep beside its output: enough for all levels below 20.
_SMALL_WINDOW = 8 * 1024 * 1024
# What the library, and so Java, takes by default.
_LARGEST_WINDOW = 128 * 1024 * 1024
_PIECE = 64 * 1024

# An empty frame is its header, one empty block and perhaps a checksum.
_EMPTY_FRAME_AFTER_HEADER = 3 + 4

_MAGIC_SIZE = 4
_HAS_CHECKSUM = 0x04
# No window of its own, and a content size of eight bytes.
_SINGLE_SEGMENT_WITH_SIZE = 0xE0


def decompress(data: memoryview, max_size: int) -> bytes:
    """One frame, and nothing may follow it."""
    try:
        return _decompress(data, max_size)
    except zstandard.ZstdError as problem:
        raise CorruptFrame(f"not zstd, or more than {max_size} bytes of it: {problem}") from None


def _decompress(data: memoryview, max_size: int) -> bytes:
    frame = zstandard.get_frame_parameters(data)
    claimed = frame.content_size
    if claimed == zstandard.CONTENTSIZE_UNKNOWN:
        if frame.window_size > _SMALL_WINDOW:
            return _decompress_counted(data, max_size, has_checksum=frame.has_checksum)
    elif claimed > max_size:
        raise CorruptFrame(f"{claimed} decompressed bytes are more than {max_size}")
    elif claimed == 0:
        return _empty(data)
    return _decompress_frame(data, max_size, max_window=_SMALL_WINDOW)


def _decompress_frame(data: memoryview, max_size: int, *, max_window: int) -> bytes:
    # The limit also meets a cut-off frame that claims its size: for that one the library takes a window.
    decoder = zstandard.ZstdDecompressor(max_window_size=max_window)
    return decoder.decompress(data, max_output_size=max_size, allow_extra_data=False)


def _decompress_counted(data: memoryview, max_size: int, *, has_checksum: bool) -> bytes:
    size = _count(data, max_size)
    if size == 0:
        # Nothing came out, so no window was filled; but is it an empty frame, or one cut off?
        return _decompress_frame(data, 1, max_window=_LARGEST_WINDOW)
    sized = _with_size(data, size, has_checksum=has_checksum)
    return _decompress_frame(sized, size, max_window=_SMALL_WINDOW)


def _empty(data: memoryview) -> bytes:
    # The library looks no further than a size of nothing.
    if len(data) > zstandard.frame_header_size(data) + _EMPTY_FRAME_AFTER_HEADER:
        raise CorruptFrame("a zstd frame of nothing has bytes left over")
    return b""


def _count(data: memoryview, max_size: int) -> int:
    """Decompress and forget; CorruptFrame as soon as it is more than max_size bytes."""
    size = 0
    piece = bytearray(_PIECE)
    with zstandard.ZstdDecompressor().stream_reader(data) as stream:
        while read := stream.readinto(piece):
            size += read
            if size > max_size:
                raise CorruptFrame(f"more than {max_size} decompressed bytes")
    return size


def _with_size(data: memoryview, size: int, *, has_checksum: bool) -> memoryview:
    """The same blocks under a header that says how long they will be."""
    flags = _SINGLE_SEGMENT_WITH_SIZE | (_HAS_CHECKSUM if has_checksum else 0)
    header = bytes(data[:_MAGIC_SIZE]) + bytes((flags,)) + size.to_bytes(8, "little")
    return memoryview(header + bytes(data[zstandard.frame_header_size(data) :]))
