"""Receive buffers: one that all connections share, and memory of their own for frames that arrive in parts.

A frame that lies whole in the shared buffer is handled where it lies; an idle connection owns no buffer. A partial frame
gets memory as its bytes come, whatever size it announces: a small one grows, a large one is anonymous mapped memory, of
which only the pages that were written to exist.
"""

from __future__ import annotations

import mmap

SHARED_SIZE = 256 * 1024
# What one read takes while memory is short.
NARROW_SIZE = 4 * 1024
# The shared buffer begins so far behind the start of a page. Kernel buffers begin at one, and processors of some makes
# (AMD's Zen 3) copy at half the speed to a place that lies just a few bytes further into its page than the source does:
# 16, for instance, which is where malloc would put a buffer of this size.
_MARGIN = 64
_SMALLEST = 1024
_LARGEST_GROWN = 64 * 1024
_LARGEST_POOLED = 4 * 1024 * 1024


class ReceiveBuffers:
    __slots__ = ("_capacity", "_free", "_pooled", "shared", "window")

    def __init__(self, capacity: int = 32 * 1024 * 1024) -> None:
        self.shared = memoryview(mmap.mmap(-1, _MARGIN + SHARED_SIZE))[_MARGIN:]
        # The part of it that a read may fill.
        self.window = self.shared
        self._free: dict[int, list[mmap.mmap]] = {}
        # Bytes of all pooled buffers, lent ones too: their pages exist, so a frame of ten bytes must not own many.
        self._pooled = 0
        self._capacity = capacity

    def narrow(self, is_narrow: bool) -> None:
        """Read little at a time: what comes behind a request that has to wait must be kept."""
        self.window = self.shared[:NARROW_SIZE] if is_narrow else self.shared

    def take(self, size: int, filled: int) -> PartialFrame:
        """Memory for a frame of this size, of which so many bytes are here."""
        if size <= _LARGEST_GROWN:
            return PartialFrame(bytearray(min(size, max(_SMALLEST, 2 * filled))), size)
        rounded = 1 << (size - 1).bit_length()
        free = self._free.get(rounded)
        if free:
            return PartialFrame(free.pop(), size, is_pooled=True)
        return PartialFrame(mmap.mmap(-1, rounded), size)

    def give_back(self, frame: PartialFrame) -> None:
        """Keep a mapped buffer for the next large frame: fresh pages cost more than reading into used ones."""
        memory = frame.memory
        frame.view.release()
        if not isinstance(memory, mmap.mmap):
            return
        size = len(memory)
        if not frame.is_pooled:
            if size > _LARGEST_POOLED or self._pooled + size > self._capacity:
                return
            self._pooled += size
        self._free.setdefault(size, []).append(memory)


class PartialFrame:
    """A frame, its four length bytes included, of which `filled` bytes have come so far."""

    __slots__ = ("filled", "is_pooled", "memory", "size", "view")

    def __init__(
        self, memory: bytearray | mmap.mmap, size: int, *, is_pooled: bool = False
    ) -> None:
        self.memory = memory
        self.view = memoryview(memory)[:size]
        self.size = size
        self.filled = 0
        self.is_pooled = is_pooled

    @property
    def missing(self) -> int:
        return self.size - self.filled

    def grow(self) -> None:
        """The memory is full and the frame is not."""
        memory = bytearray(min(self.size, 2 * len(self.view)))
        memory[: self.filled] = self.view
        self.view.release()
        self.memory = memory
        self.view = memoryview(memory)
