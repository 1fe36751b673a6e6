"""Which offset holds the last record of each key: a hash table in three arrays, 24 bytes a slot.

A dict of the same keys takes six times the memory, and memory is what bounds how much of a log one round can clean.
Keys are known by 16 bytes of a hash: two that share all of them do not occur.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from hashlib import blake2b
from struct import Struct

SLOT_BYTES = 24
NOWHERE = -1

_halves = Struct(">QQ").unpack


class OffsetMap:
    """First `put_all`, then `get`. `latest_offset`: everything up to there has been put."""

    __slots__ = ("_first", "_limit", "_offsets", "_second", "count", "latest_offset", "slots")

    def __init__(self, *, most_keys: int, max_bytes: int, load_factor: float = 0.9) -> None:
        """As large as that many keys need, if the memory allows it."""
        slots = 1 << max(max_bytes // SLOT_BYTES, 2).bit_length() - 1
        # Half full at most where there is room: the fuller, the longer a search.
        slots = min(slots, 1 << max(2 * most_keys, 2).bit_length())
        self.slots = slots
        self._limit = min(int(slots * load_factor), slots - 1)
        self._first = array("Q", [0]) * slots
        self._second = array("Q", [0]) * slots
        # One more than the offset: zero is a free slot.
        self._offsets = array("Q", [0]) * slots
        self.count = 0
        self.latest_offset = NOWHERE

    def put_all(self, keys: Iterable[tuple[int, bytes | None]], start: int) -> bool:
        """Put the keys at offsets from start on, in rising order: the last one wins. False if they do not all fit.

        Those that did fit say nothing wrong even then: the records that hold them are there.
        """
        firsts, seconds, offsets, mask = self._first, self._second, self._offsets, self.slots - 1
        room = self._limit - self.count
        for offset, key in keys:
            if key is None or offset < start:
                continue
            if not room:
                return False
            first, second = _halves(blake2b(key, digest_size=16).digest())
            slot, step = first & mask, second | 1
            while offsets[slot]:
                if firsts[slot] == first and seconds[slot] == second:
                    break
                slot = (slot + step) & mask
            else:
                firsts[slot], seconds[slot] = first, second
                room -= 1
                self.count += 1
            offsets[slot] = offset + 1
        return True

    def get(self, key: bytes) -> int:
        """The last offset of the key, NOWHERE if it was not put."""
        first, second = _halves(blake2b(key, digest_size=16).digest())
        offsets, mask = self._offsets, self.slots - 1
        slot, step = first & mask, second | 1
        while found := offsets[slot]:
            if self._first[slot] == first and self._second[slot] == second:
                return int(found - 1)
            slot = (slot + step) & mask
        return NOWHERE
