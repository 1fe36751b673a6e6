"""From timestamps to offsets: `N.timeindex`, twelve bytes an entry.

An entry (t, o) says: the largest timestamp of the segment up to offset o is t. Both strictly rise.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from struct import Struct

from klamm.log.disk import File

ENTRY = Struct(">qI")
ENTRY_SIZE = ENTRY.size


class TimeIndex:
    """The entries of one segment, in memory."""

    __slots__ = ("offsets", "timestamps")

    def __init__(self) -> None:
        self.timestamps = array("q")
        self.offsets = array("I")

    @classmethod
    def parse(cls, data: bytes) -> TimeIndex:
        """Stops at the first entry that does not rise: a preallocated file ends in zeros."""
        index = cls()
        for timestamp, offset in ENTRY.iter_unpack(data[: len(data) - len(data) % ENTRY_SIZE]):
            if not index.append(timestamp, offset):
                break
        return index

    def __len__(self) -> int:
        return len(self.timestamps)

    def last(self) -> tuple[int, int] | None:
        return (self.timestamps[-1], self.offsets[-1]) if self.timestamps else None

    def append(self, timestamp: int, relative_offset: int) -> bool:
        """Whether the entry was new: one that does not rise in both says nothing, and is left out."""
        if self.timestamps and (
            timestamp <= self.timestamps[-1] or relative_offset <= self.offsets[-1]
        ):
            return False
        if timestamp < 0 or (timestamp == 0 and relative_offset == 0):
            return False
        self.timestamps.append(timestamp)
        self.offsets.append(relative_offset)
        return True

    def lookup(self, timestamp: int) -> int:
        """The largest relative offset known to stand before everything later than the timestamp."""
        found = bisect_right(self.timestamps, timestamp - 1)
        return self.offsets[found - 1] if found else 0

    def truncate(self, relative_offset: int) -> None:
        """Forget the entries at and above the offset."""
        keep = bisect_right(self.offsets, relative_offset - 1) if relative_offset else 0
        del self.timestamps[keep:], self.offsets[keep:]

    def to_bytes(self) -> bytes:
        return b"".join(map(ENTRY.pack, self.timestamps, self.offsets))


def last_entry(file: File) -> tuple[int, int] | None:
    """(timestamp, relative offset) of the last entry of an index file; None if there is none to trust."""
    size = file.size()
    if size < ENTRY_SIZE or size % ENTRY_SIZE:
        return None
    timestamp, offset = ENTRY.unpack(file.pread(ENTRY_SIZE, size - ENTRY_SIZE))
    return (timestamp, offset) if timestamp or offset else None


def search(file: File, timestamp: int) -> int:
    """`TimeIndex.lookup` on the file of a sealed segment, without loading it."""
    low, high, found = 0, file.size() // ENTRY_SIZE, 0
    while low < high:
        middle = (low + high) // 2
        at, offset = ENTRY.unpack(file.pread(ENTRY_SIZE, middle * ENTRY_SIZE))
        if at < timestamp:
            low, found = middle + 1, offset
        else:
            high = middle
    return found
