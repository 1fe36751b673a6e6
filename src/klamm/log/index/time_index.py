"""From timestamps to offsets: `N.timeindex`, twelve bytes an entry.

An entry (t, o) says: the largest timestamp of the segment up to offset o is t. Both strictly rise.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from operator import lt
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
        data = data[: len(data) - len(data) % ENTRY_SIZE]
        index._read_words(data)
        if index._is_rising():
            return index
        index = cls()
        for timestamp, offset in ENTRY.iter_unpack(data):
            if not index.append(timestamp, offset):
                break
        return index

    def _read_words(self, data: bytes) -> None:
        words = array("I", data)
        halves = array("I", bytes(len(words) // 3 * 8))
        halves[0::2], halves[1::2] = words[0::3], words[1::3]
        self.timestamps = array("q", halves.tobytes())
        self.offsets = words[2::3]
        if sys.byteorder == "little":
            self.timestamps.byteswap()
            self.offsets.byteswap()

    def _is_rising(self) -> bool:
        """As if each entry had come by `append`."""
        timestamps, offsets = self.timestamps, self.offsets
        return (
            (not timestamps or timestamps[0] > 0 or (timestamps[0] == 0 and offsets[0] > 0))
            and all(map(lt, timestamps, timestamps[1:]))
            and all(map(lt, offsets, offsets[1:]))
        )

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

    def to_bytes(self, first: int = 0) -> bytes:
        """Word by word: a large segment has a quarter of a million entries, and others wait while it is sealed."""
        timestamps, offsets = self.timestamps[first:], self.offsets[first:]
        if sys.byteorder == "little":
            timestamps.byteswap()
            offsets.byteswap()
        halves = array("I", timestamps.tobytes())
        words = array("I", bytes(len(offsets) * ENTRY_SIZE))
        words[0::3], words[1::3], words[2::3] = halves[0::2], halves[1::2], offsets
        return words.tobytes()


def last_entry(file: File) -> tuple[int, int] | None:
    """(timestamp, relative offset) of the last entry of an index file; None if there is none to trust."""
    size = file.size()
    if size < ENTRY_SIZE or size % ENTRY_SIZE:
        return None
    timestamp, offset = ENTRY.unpack(file.pread(ENTRY_SIZE, size - ENTRY_SIZE))
    return (timestamp, offset) if timestamp or offset else None


def search(file: File, timestamp: int) -> tuple[int, int] | None:
    """The entry that `TimeIndex.lookup` finds, on the file of a sealed segment, without loading it."""
    low, high, found = 0, file.size() // ENTRY_SIZE, None
    while low < high:
        middle = (low + high) // 2
        at, offset = ENTRY.unpack(file.pread(ENTRY_SIZE, middle * ENTRY_SIZE))
        if at < timestamp:
            low, found = middle + 1, (at, offset)
        else:
            high = middle
    return found
