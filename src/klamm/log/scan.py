"""Walking over the batches of a segment file, from a position where one begins.

Both walks stop quietly at the first thing that is not a whole batch; the caller sees from the last position whether
that was the end. Nothing here judges beyond the header: checksums are recovery's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from klamm.log.disk import File
from klamm.protocol.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, BatchHeader, read_header

_MIN_LENGTH = HEADER_SIZE - LOG_OVERHEAD
# How much to read at once: one header; the bytes between two index entries of small batches; a long walk.
ONE_HEADER = HEADER_SIZE
NARROW = 8 * 1024
WIDE = 1024 * 1024


class Found(NamedTuple):
    """A batch in a file, by its header."""

    position: int
    size: int
    header: BatchHeader


def headers(file: File, start: int, end: int, window: int = NARROW) -> Iterator[Found]:
    """The headers between two positions; bodies are skipped, not read, where they are large."""
    position = start
    while position + HEADER_SIZE <= end:
        data = file.pread(min(window, end - position), position)
        at = 0
        while at + HEADER_SIZE <= len(data):
            header = read_header(data, at)
            size = header.batch_length + LOG_OVERHEAD
            if not _is_plausible(header) or position + at + size > end:
                return
            yield Found(position + at, size, header)
            at += size
        if at == 0:
            return
        position += at


def batches(file: File, start: int, end: int) -> Iterator[tuple[Found, memoryview]]:
    """The same with all bytes of each batch; the view is valid until the next step."""
    position = start
    while position + HEADER_SIZE <= end:
        data = memoryview(file.pread(min(WIDE, end - position), position))
        at = 0
        while at + HEADER_SIZE <= len(data):
            header = read_header(data, at)
            size = header.batch_length + LOG_OVERHEAD
            if not _is_plausible(header) or position + at + size > end:
                return
            if at + size > len(data):
                if at:
                    break
                data = memoryview(file.pread(size, position))
            yield Found(position + at, size, header), data[at : at + size]
            at += size
        if at == 0:
            return
        position += at


def _is_plausible(header: BatchHeader) -> bool:
    return (
        header.magic == MAGIC
        and header.batch_length >= _MIN_LENGTH
        and header.base_offset >= 0
        and header.last_offset_delta >= 0
    )
