"""One connection to another node: frames go out, answers come back in the same order, each in memory of its own.

A long answer is received right where it stays. So record bytes are taken from it without another copy, and may be written to.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

from klamm.server.world.ports import Buffer

# Hears the answer, without its size; None if there is none.
Heard = Callable[[memoryview | None], None]

_SIZE = 4
_READ_BYTES = 16 * 1024
# No node sends more at once: what is longer is no answer of Kafka's protocol.
MAX_FRAME_BYTES = 256 * 1024 * 1024


class PeerConnection(asyncio.BufferedProtocol):
    """`on_lost` hears once that it is over. A connection that has ended stays so."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[Heard] = deque()
        self._is_over = False
        # What arrived and is not taken yet: its place in the buffer.
        self._buffer = bytearray(_READ_BYTES)
        self._view = memoryview(self._buffer)
        self._filled = 0
        # A frame that is longer than the buffer, and how much of it is here.
        self._frame: memoryview | None = None
        self._arrived = 0

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._is_over

    @property
    def waiting(self) -> int:
        """How many answers are still to come."""
        return len(self._waiting)

    def send(self, frame: Buffer, heard: Heard) -> None:
        assert self._transport is not None
        self._waiting.append(heard)
        self._transport.write(frame)

    def abort(self) -> None:
        """End it now: whoever waits for an answer is told that there is none."""
        if self._is_over:
            return
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()
        while self._waiting:
            self._waiting.popleft()(None)
        self._on_lost()

    # What the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._is_over:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame is not None:
            return self._frame[self._arrived :]
        return self._view[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._frame is None:
            self._filled += nbytes
            self._take_frames()
            return
        self._arrived += nbytes
        if self._arrived == len(self._frame):
            frame, self._frame = self._frame, None
            self._answer(frame)

    def _take_frames(self) -> None:
        at = 0
        while self._filled - at >= _SIZE and not self._is_over:
            size = int.from_bytes(self._view[at : at + _SIZE], "big", signed=True)
            if not 0 < size <= MAX_FRAME_BYTES:
                self.abort()
                return
            end = at + _SIZE + size
            if end > self._filled:
                if size > _READ_BYTES - _SIZE:
                    self._begin_frame(size, at + _SIZE)
                    return
                break
            frame = memoryview(bytearray(self._view[at + _SIZE : end]))
            at = end
            self._answer(frame)
        rest = self._filled - at
        if at and rest:
            self._buffer[:rest] = self._buffer[at : self._filled]
        self._filled = rest

    def _begin_frame(self, size: int, at: int) -> None:
        """The rest of it goes where it will stay."""
        here = self._filled - at
        self._frame = memoryview(bytearray(size))
        self._frame[:here] = self._view[at : self._filled]
        self._arrived = here
        self._filled = 0

    def _answer(self, frame: memoryview) -> None:
        if not self._waiting:
            # An answer that nobody asked for.
            self.abort()
            return
        self._waiting.popleft()(frame)
