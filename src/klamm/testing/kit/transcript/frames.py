"""Frames out of a stream of bytes. Of large ones only the beginning is kept."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from klamm.server.world.ports import Buffer

_unpack_size = Struct(">i").unpack_from
KEPT_BYTES = 32 * 1024


class Kept(NamedTuple):
    """`data` is all of it if it has `size` bytes."""

    data: bytes
    size: int

    @property
    def is_whole(self) -> bool:
        return len(self.data) == self.size


class FrameStream:
    def __init__(self, on_frame: Callable[[Kept], None]) -> None:
        self._on_frame = on_frame
        self._head = bytearray()
        # Of the frame that is coming: its size, what is kept of it, and how much has not come yet.
        self._size = -1
        self._kept = bytearray()
        self._left = 0

    def feed(self, data: Buffer, unseen: int = 0) -> None:
        view = memoryview(data)
        while len(view):
            view = self._take_body(view) if self._size >= 0 else self._take_head(view)
        if unseen and self._size >= 0:
            # Nothing behind it can be kept: it would not stand where it belongs.
            self._left -= unseen
            self._end_if_done()

    def _take_head(self, view: memoryview) -> memoryview:
        missing = 4 - len(self._head)
        self._head += view[:missing]
        if len(self._head) == 4:
            (self._size,) = _unpack_size(self._head)
            self._left = self._size
            self._end_if_done()
        return view[missing:]

    def _take_body(self, view: memoryview) -> memoryview:
        part = view[: self._left]
        has_gap = len(self._kept) + self._left < self._size
        if not has_gap and len(self._kept) < KEPT_BYTES:
            self._kept += part[: KEPT_BYTES - len(self._kept)]
        self._left -= len(part)
        self._end_if_done()
        return view[len(part) :]

    def _end_if_done(self) -> None:
        if self._left > 0:
            return
        frame = Kept(bytes(self._kept), self._size)
        self._head.clear()
        self._kept.clear()
        self._size = -1
        self._on_frame(frame)
