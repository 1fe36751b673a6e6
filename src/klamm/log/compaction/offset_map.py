"""Which offset holds the last record of each key: a hash table in three arrays, 24 bytes a slot.

A dict of the same keys takes six times the memory, and memory is what bounds how much of a log one round can clean.
Keys are known by 16 bytes of a hash: two that share all of them do not occur.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from struct import Struct

SLOT_BYTES = 24
NOWHERE = -1

_HALVES = Struct(">QQ")


class OffsetMap:
    """`put` until `is_full`, then `get`. `latest_offset`: everything up to there has been put."""

    __slots__ = ("_first", "_limit", "_mask", "_offsets", "_second", "count", "latest_offset")

    def __init__(self, *, most_keys: int, max_bytes: int, load_factor: float = 0.9) -> None:
        """As large as that many keys need, if the memory allows it."""
        slots = 1 << max(max_bytes // SLOT_BYTES, 2).bit_length() - 1
        # Half full at most where there is room: the fuller, the longer a search.
        slots = min(slots, 1 << max(2 * most_keys, 2).bit_length())
        self._mask = slots - 1
        self._limit = min(int(slots * load_factor), slots - 1)
        self._first = array("Q", [0]) * slots
        self._second = array("Q", [0]) * slots
        # One more than the offset: zero is a free slot.
        self._offsets = array("Q", [0]) * slots
        self.count = 0
        self.latest_offset = NOWHERE

    @property
    def is_full(self) -> bool:
        return self.count >= self._limit

    def put(self, key: bytes, offset: int) -> None:
        """Offsets are put in rising order, so the last one wins. Not to be called when full."""
        first, second = _hash(key)
        offsets, mask = self._offsets, self._mask
        slot, step = first & mask, second | 1
        while offsets[slot]:
            if self._first[slot] == first and self._second[slot] == second:
                offsets[slot] = offset + 1
                return
            slot = (slot + step) & mask
        self._first[slot], self._second[slot], offsets[slot] = first, second, offset + 1
        self.count += 1

    def get(self, key: bytes) -> int:
        """The last offset of the key, NOWHERE if it was not put."""
        first, second = _hash(key)
        offsets, mask = self._offsets, self._mask
        slot, step = first & mask, second | 1
        while found := offsets[slot]:
            if self._first[slot] == first and self._second[slot] == second:
                return found - 1
            slot = (slot + step) & mask
        return NOWHERE


def _hash(key: bytes) -> tuple[int, int]:
    first, second = _HALVES.unpack(blake2b(key, digest_size=_HALVES.size).digest())
    return first, second
