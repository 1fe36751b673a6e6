"""An answer whose record bytes stay in their file until the client takes them.

They go from the page cache to the socket by sendfile. Only when the socket is full a piece is read into memory: the
transport then waits until the client has taken it. Knows parts and their sizes, not what they say.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from klamm.log.disk import File
from klamm.server.network.limits import READ_AT_ONCE
from klamm.server.world.ports import Buffer, Wire

# Answers with more record bytes than this are never in memory as a whole.
LONG_BYTES = 2 * 1024 * 1024
# From so many record bytes on, and so many in one place, sendfile costs less than reading and writing.
DIRECT_BYTES = 128 * 1024
_DIRECT_PART_BYTES = 64 * 1024
# What is read into memory when a socket is full: as little as is worth being woken for.
_PIECE_BYTES = 64 * 1024
# What a part costs beyond its own bytes, in memory.
_PART_COST = 256
# Pieces of long answers that are sent in one turn of the loop, before others are served again.
_PIECES_IN_A_TURN = 4
# What is sent of a long answer before others have their turn: four partitions of a megabyte each, as consumers ask for
# by default, and what stands around them. A turn of its own for the last bytes would cost as much as another megabyte.
AT_ONCE = 4 * READ_AT_ONCE + 64 * 1024
# An answer may hold a file of each partition that it was asked for.
_MOST_LONG_ANSWERS = 256


def is_better_sent_directly(size: int, parts: int) -> bool:
    """Whether so many record bytes, in so many places, should stay in their files."""
    return size > LONG_BYTES or size >= max(DIRECT_BYTES, parts * _DIRECT_PART_BYTES)


class Unread(Protocol):
    """Bytes that lie somewhere else and stay what they are."""

    @property
    def size(self) -> int: ...
    def read_part(self, start: int, size: int) -> bytes: ...
    @property
    def file(self) -> File: ...
    @property
    def position(self) -> int: ...


class LongAnswer:
    """A whole answer frame, sent by `send` as far as the socket takes it, or handed out by `take`, piece by piece."""

    __slots__ = ("_at", "_parts", "_start")

    def __init__(self, parts: list[Buffer | Unread]) -> None:
        self._parts = parts
        self._at = 0
        # How far the part at hand has been sent or read.
        self._start = 0

    @property
    def is_done(self) -> bool:
        return self._at == len(self._parts)

    def cost(self) -> int:
        """What it takes in memory while it waits."""
        ready = sum(len(part) for part in self._parts if isinstance(part, Buffer))
        return ready + len(self._parts) * _PART_COST

    def send(self, wire: Wire, at_most: int = READ_AT_ONCE) -> bool:
        """Send about so much now; False if the socket takes no more. OSError where a file cannot be read."""
        parts = self._parts
        count = len(parts)
        while at_most > 0 and self._at < count:
            part = parts[self._at]
            try:
                if isinstance(part, Buffer):
                    size = len(part)
                    rest = memoryview(part)[self._start :] if self._start else part
                    sent = wire.send(rest) if self._at + 1 == count else wire.send_more(rest)
                else:
                    size = part.size
                    most = min(at_most, size - self._start)
                    file_sent = wire.send_file(part.file, part.position + self._start, most)
                    if file_sent is None:
                        return False
                    if not file_sent:
                        # As in `take`: the client expects what the file does not have.
                        raise OSError(f"the file ends {most} bytes too early")
                    sent = file_sent
            except BlockingIOError:
                return False
            at_most -= sent
            self._start += sent
            if self._start == size:
                self._at += 1
                self._start = 0
        return True

    def take(self) -> list[Buffer]:
        """The next piece, read into memory; OSError where a file cannot be read."""
        piece: list[Buffer] = []
        left = _PIECE_BYTES
        while left > 0 and not self.is_done:
            data = self._next(left)
            piece.append(data)
            left -= len(data)
        return piece

    def _next(self, at_most: int) -> Buffer:
        part = self._parts[self._at]
        if isinstance(part, Buffer):
            rest = memoryview(part)[self._start :] if self._start else part
            self._at += 1
            self._start = 0
            return rest
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

    @property
    def has_room(self) -> bool:
        return self.count < _MOST_LONG_ANSWERS

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
