"""Receive buffers: one that all connections share, and a pool of exact ones for frames that arrive in parts.

A frame that lies whole in the shared buffer is handled where it lies. Only a partial frame gets memory of its own, and
that is anonymous mapped memory: a client that announces 100 MiB and sends ten bytes costs one page, not 100 MiB.
"""

from __future__ import annotations

import mmap

SHARED_SIZE = 256 * 1024
_SMALLEST = 64 * 1024
_LARGEST_POOLED = 4 * 1024 * 1024


class ReceiveBuffers:
    __slots__ = ("_capacity", "_free", "_pooled", "shared")

    def __init__(self, capacity: int = 32 * 1024 * 1024) -> None:
        self.shared = memoryview(bytearray(SHARED_SIZE))
        self._free: dict[int, list[mmap.mmap]] = {}
        self._pooled = 0
        self._capacity = capacity

    def take(self, size: int) -> PartialFrame:
        if size <= _SMALLEST:
            return PartialFrame(bytearray(size), size)
        rounded = 1 << (size - 1).bit_length()
        free = self._free.get(rounded)
        if free:
            self._pooled -= rounded
            return PartialFrame(free.pop(), size)
        return PartialFrame(mmap.mmap(-1, rounded), size)

    def give_back(self, frame: PartialFrame) -> None:
        """Keep a mapped buffer for the next large frame: fresh pages cost more than reading into used ones."""
        memory = frame.memory
        frame.view.release()
        if not isinstance(memory, mmap.mmap):
            return
        size = len(memory)
        if size <= _LARGEST_POOLED and self._pooled + size <= self._capacity:
            self._free.setdefault(size, []).append(memory)
            self._pooled += size


class PartialFrame:
    """A frame, its four length bytes included, of which `filled` bytes have come so far."""

    __slots__ = ("filled", "memory", "size", "view")

    def __init__(self, memory: bytearray | mmap.mmap, size: int) -> None:
        self.memory = memory
        self.view = memoryview(memory)[:size]
        self.size = size
        self.filled = 0
