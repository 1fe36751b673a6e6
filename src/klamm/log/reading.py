"""Finding the bytes that answer a read, quickly where a reader goes on from where it ended.

Most readers follow the end of the log. They ask, find nothing or everything, and will ask next for the offset that
was the end just now: that offset and its position are remembered, so that following costs no search.
"""

from __future__ import annotations

from struct import Struct

from klamm.log.disk import File
from klamm.log.results import Slice
from klamm.log.segment import Segment
from klamm.log.segments import Segments
from klamm.protocol.records.batch import HEADER_SIZE, LENGTH_AT, LOG_OVERHEAD

_LENGTH = Struct(">i")
# Base offset, length, and behind epoch, magic, checksum and attributes the last offset delta: all that a walk needs.
_PLACE = Struct(">qi11xi")
# Index entries stand about this far apart; a little more, so that one read shows the header of the batch behind.
_WINDOW = 4096 + 256
# How many readers are remembered, each by the offset it will ask for next.
_MAX_MARKS = 64


class Reader:
    """The read side of one log."""

    __slots__ = ("_marks", "_segments")

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        # Offset -> the segment, and the position and the size of the batch that holds it. A batch that is still to come
        # has no size yet.
        self._marks: dict[int, tuple[Segment, int, int]] = {}

    def forget(self) -> None:
        """Positions changed: a segment was begun, cut or dropped."""
        self._marks.clear()

    def read(
        self, offset: int, max_bytes: int, up_to: int, end_offset: int, min_one: bool
    ) -> Slice | None:
        segments = self._segments
        active = segments.active
        marks = self._marks
        if offset >= up_to:
            if offset == end_offset and offset not in marks:
                self._mark(offset, active, active.size)
            return None
        mark = marks.get(offset)
        if mark is None:
            # Others may read from here too: a group of consumers starts at one place.
            self._mark(offset, *self._locate(offset))
            mark = marks[offset]
        segment, position, first = mark
        if segment is active and up_to >= end_offset:
            limit = active.size
            if end_offset not in marks:
                self._mark(end_offset, active, limit)
        else:
            limit = self._limit(segment, up_to, end_offset)
        size = limit - position
        if size <= 0:
            return None
        file = segment.handle or segments.file_of(segment)
        if size > max_bytes:
            first = first or _batch_size(file, position)
            if first <= max_bytes:
                spare = segment.cut_off_at(position + max_bytes)
                # Whatever the index says, the first batch stays.
                spare = spare if spare <= max_bytes - first else 0
                return Slice(file, position, max_bytes, segment.base_offset, spare)
            if min_one:
                size = first
            else:
                return None
        return Slice(file, position, size, segment.base_offset)

    def _mark(self, offset: int, segment: Segment, position: int, first: int = 0) -> None:
        marks = self._marks
        if len(marks) >= _MAX_MARKS:
            del marks[next(iter(marks))]
        marks[offset] = (segment, position, first)

    def _locate(self, offset: int) -> tuple[Segment, int, int]:
        segments = self._segments
        for segment in segments.since(offset):
            if segment.size:
                found = _walk(
                    segments.file_of(segment), segment.lookup(offset), segment.size, offset
                )
                if found is not None:
                    return segment, *found
        return segments.active, segments.active.size, 0

    def _limit(self, segment: Segment, up_to: int, end_offset: int) -> int:
        """The position in the segment before which everything stands below the offset."""
        next_base = self._segments.next_base(segment)
        if up_to >= (end_offset if next_base is None else next_base):
            return segment.size
        mark = self._marks.get(up_to)
        limiting, position, first = mark or self._locate(up_to)
        if limiting is segment:
            if mark is None:
                self._mark(up_to, segment, position, first)
            return position
        return segment.size if limiting.base_offset > segment.base_offset else 0


def _batch_size(file: File, position: int) -> int:
    length: int = _LENGTH.unpack(file.pread(_LENGTH.size, position + LENGTH_AT))[0]
    return length + LOG_OVERHEAD


def _walk(file: File, position: int, end: int, offset: int) -> tuple[int, int] | None:
    """Position and size of the batch that holds the offset, or the first behind it; no object per batch."""
    unpack = _PLACE.unpack_from
    while position + HEADER_SIZE <= end:
        data = file.pread(_WINDOW, position)
        at, last = 0, min(len(data), end - position) - HEADER_SIZE
        if last < 0:
            return None
        while at <= last:
            base, length, delta = unpack(data, at)
            if base + delta >= offset:
                return position + at, length + LOG_OVERHEAD
            if length + LOG_OVERHEAD < HEADER_SIZE:
                return None
            at += length + LOG_OVERHEAD
        position += at
    return None
