"""An answer that is too large to be in memory as a whole: record bytes stay in their file until the client takes them.

Knows parts and their sizes, not what they say.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from klamm.server.network.limits import READ_AT_ONCE

Buffer = bytes | bytearray | memoryview

# Answers with fewer record bytes than this are read at once, which costs less.
LONG_BYTES = 2 * 1024 * 1024
# What a part costs beyond its own bytes, in memory.
_PART_COST = 256
# Pieces of long answers that are sent in one turn of the loop, before others are served again.
_PIECES_IN_A_TURN = 4


class Unread(Protocol):
    """Bytes that lie somewhere else and stay what they are."""

    @property
    def size(self) -> int: ...
    def read_part(self, start: int, size: int) -> bytes: ...


class LongAnswer:
    """A whole answer frame; `take` hands it out piece by piece."""

    __slots__ = ("_at", "_parts", "_start")

    def __init__(self, parts: list[Buffer | Unread]) -> None:
        self._parts = parts
        self._at = 0
        # How far the part at hand has been read.
        self._start = 0

    @property
    def is_done(self) -> bool:
        return self._at == len(self._parts)

    def cost(self) -> int:
        """What it takes in memory while it waits."""
        ready = sum(len(part) for part in self._parts if isinstance(part, Buffer))
        return ready + len(self._parts) * _PART_COST

    def take(self) -> list[Buffer]:
        """The next piece, about READ_AT_ONCE bytes; OSError where a file cannot be read."""
        piece: list[Buffer] = []
        left = READ_AT_ONCE
        while left > 0 and not self.is_done:
            data = self._next(left)
            piece.append(data)
            left -= len(data)
        return piece

    def _next(self, at_most: int) -> Buffer:
        part = self._parts[self._at]
        if isinstance(part, Buffer):
            self._at += 1
            return part
        wanted = min(part.size - self._start, at_most)
        data = part.read_part(self._start, wanted)
        if len(data) != wanted:
            # The frame's size is already with the client: there is no way to say that bytes are missing.
            raise OSError(f"{len(data)} bytes could be read instead of {wanted}")
        self._start += wanted
        if self._start == part.size:
            self._at += 1
            self._start = 0
        return data


class Outbox:
    """Whose turn it is: hundreds of clients may want their next piece at the same moment."""

    __slots__ = ("_is_sending", "_waiting", "count")

    def __init__(self) -> None:
        # Long answers under way; each keeps files open.
        self.count = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_sending = False

    def send_soon(self, send_piece: Callable[[], None]) -> None:
        self._waiting.append(send_piece)
        if not self._is_sending:
            self._is_sending = True
            asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        for _ in range(min(_PIECES_IN_A_TURN, len(self._waiting))):
            self._waiting.popleft()()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._send)
        else:
            self._is_sending = False
