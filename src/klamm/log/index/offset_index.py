"""From offsets to positions in a segment: `N.index`, eight bytes an entry.

An entry names the LAST offset of a batch, relative to the segment's base, and the position where that batch begins.
The active segment keeps its entries in two compact arrays; a sealed one is searched on disk and costs no memory.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from struct import Struct

from klamm.log.disk import File

ENTRY = Struct(">II")
ENTRY_SIZE = ENTRY.size
# Bytes of log between two entries unless a topic says otherwise.
USUAL_INTERVAL_BYTES = 4096


class OffsetIndex:
    """The entries of one segment, in memory."""

    __slots__ = ("offsets", "positions")

    def __init__(self) -> None:
        self.offsets = array("I")
        self.positions = array("I")

    @classmethod
    def parse(cls, data: bytes) -> OffsetIndex:
        """Kafka preallocates the file, so it may end in zeros: stop where entries stop rising."""
        index = cls()
        flat = array("I", data[: len(data) - len(data) % ENTRY_SIZE])
        if sys.byteorder == "little":
            flat.byteswap()
        index.offsets, index.positions = flat[0::2], flat[1::2]
        if len(index) > 1 and index.offsets[-1] <= index.offsets[-2]:
            index.cut_at_first_fall()
        elif len(index) == 1 and index.positions[0] == 0:
            index.truncate(0)
        return index

    def cut_at_first_fall(self) -> None:
        """Forget what stands behind the first entry that does not rise."""
        previous = -1
        for count, offset in enumerate(self.offsets):
            if offset <= previous or (count == 0 and self.positions[0] == 0):
                del self.offsets[count:], self.positions[count:]
                return
            previous = offset

    def __len__(self) -> int:
        return len(self.offsets)

    def append(self, relative_offset: int, position: int) -> None:
        self.offsets.append(relative_offset)
        self.positions.append(position)

    def lookup(self, relative_offset: int) -> int:
        """Where to begin looking for the offset: a batch at or before the one that holds it."""
        found = bisect_right(self.offsets, relative_offset)
        return self.positions[found - 1] if found else 0

    def position_before(self, position: int) -> int:
        """The last position of an entry that is not behind this one."""
        found = bisect_right(self.positions, position)
        return self.positions[found - 1] if found else 0

    def last_position(self) -> int:
        return self.positions[-1] if self.positions else 0

    def truncate(self, relative_offset: int) -> None:
        """Forget the entries at and above the offset."""
        keep = bisect_right(self.offsets, relative_offset - 1) if relative_offset else 0
        del self.offsets[keep:], self.positions[keep:]

    def to_bytes(self, first: int = 0) -> bytes:
        flat = array("I", bytes((len(self) - first) * ENTRY_SIZE))
        flat[0::2] = self.offsets[first:]
        flat[1::2] = self.positions[first:]
        if sys.byteorder == "little":
            flat.byteswap()
        return flat.tobytes()


def last_entry(file: File) -> tuple[int, int] | None:
    """(relative offset, position) of the last entry of an index file; None if there is none to trust."""
    size = file.size()
    if size < ENTRY_SIZE or size % ENTRY_SIZE:
        return None
    offset, position = ENTRY.unpack(file.pread(ENTRY_SIZE, size - ENTRY_SIZE))
    return (offset, position) if position else None


def search(file: File, relative_offset: int) -> int:
    """`OffsetIndex.lookup` on the file of a sealed segment, without loading it."""
    low, high, position = 0, file.size() // ENTRY_SIZE, 0
    while low < high:
        middle = (low + high) // 2
        offset, at = ENTRY.unpack(file.pread(ENTRY_SIZE, middle * ENTRY_SIZE))
        if offset <= relative_offset:
            low, position = middle + 1, at
        else:
            high = middle
    return position
