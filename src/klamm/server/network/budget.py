"""The memory that all connections together may hold: parts of frames, parked requests, answers that nobody reads.

Nothing is reserved: a connection pays for bytes when they are here and gets them back when they are gone. When the
budget is used up nothing more is read into large frames. The one whose frame is nearest to its end goes on all the
same, so that there is always one who will give bytes back; the others stand in line. Whoever holds memory then and
does not move is closed after seconds instead of a minute.

Small frames and unread answers cannot wait outside. Should they bring the total to a quarter more than the budget (and
one frame), those that have been here longest are given up.
"""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from klamm.server.network.buffers import ReceiveBuffers
from klamm.server.network.complaints import Complaints
from klamm.server.network.limits import READ_AT_ONCE, Limits

if TYPE_CHECKING:
    from klamm.server.network.connection import Connection

_LOOK_EVERY_SECONDS = 1.0


class Budget:
    __slots__ = (
        "_alarm",
        "_buffers",
        "_complaints",
        "_limits",
        "_line",
        "_most",
        "_ticket",
        "_turn",
        "_turn_since",
        "is_used_up",
        "limit",
        "receiving",
        "unread",
        "used",
    )

    def __init__(self, limits: Limits, buffers: ReceiveBuffers, complaints: Complaints) -> None:
        self.limit = limits.max_held_bytes
        # Above this somebody has to go. The frame of the one who may go on has room beside the others.
        self._most = self.limit + self.limit // 4 + limits.max_request_bytes
        self.used = 0
        self.is_used_up = False
        # Connections with part of a frame, and those whose client does not read, the longest first.
        self.receiving: dict[Connection, None] = {}
        self.unread: dict[Connection, None] = {}
        self._limits = limits
        self._buffers = buffers
        self._complaints = complaints
        # By missing bytes; the ticket keeps connections from being compared. Those that are gone are skipped.
        self._line: list[tuple[int, int, Connection]] = []
        self._ticket = 0
        self._turn: Connection | None = None
        self._turn_since = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    def charge(self, size: int) -> None:
        self.used += size
        if self.used > self.limit:
            if not self.is_used_up:
                self._run_out()
            if self.used > self._most:
                self._give_up_oldest()

    def give_back(self, size: int) -> None:
        self.used -= size
        if self.is_used_up:
            self._serve_line()

    def stand_in_line(self, *connections: Connection) -> None:
        """Unless there is room, or it is its turn."""
        if self.used <= self.limit:
            return
        for connection in connections:
            missing = None if connection is self._turn else connection.wait_for_memory()
            if missing is not None:
                self._ticket += 1
                heappush(self._line, (missing, self._ticket, connection))
        self._serve_line()

    def leave(self, connection: Connection) -> None:
        """Its frame is complete, or it is gone."""
        self.receiving.pop(connection, None)
        if connection is self._turn:
            self._turn = None

    def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    def _run_out(self) -> None:
        self.is_used_up = True
        self._buffers.narrow(True)
        loop = asyncio.get_running_loop()
        self._complaints.warn(
            loop.time(),
            "the memory for requests is used up, large ones wait: used=%d limit=%d",
            self.used,
            self.limit,
        )
        self._alarm = loop.call_later(_LOOK_EVERY_SECONDS, self._look)
        self.stand_in_line(*self.receiving)

    def _give_up_oldest(self) -> None:
        for connection in [*self.unread, *self.receiving]:
            if self.used <= self.limit:
                return
            # Who stands in line has done no wrong: it takes no more.
            if connection is not self._turn and not connection.is_short_of_memory:
                connection.abort("memory is short and it is the slowest")

    def _serve_line(self) -> None:
        """Let go on who fits; if nobody does, the one with the least to come."""
        room = self.limit - self.used
        while self._line and (room > 0 or self._turn is None):
            missing, _, connection = heappop(self._line)
            if not connection.is_short_of_memory:
                continue
            if room <= 0:
                self._turn = connection
                self._turn_since = asyncio.get_running_loop().time()
            room -= min(missing, READ_AT_ONCE)
            connection.go_on()
        if not self._line and self._turn is None and self.used <= self.limit // 4 * 3:
            self.is_used_up = False
            self._buffers.narrow(False)
            self.close()

    def _look(self) -> None:
        """While memory is short: close those who hold it and do not move."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in [*self.receiving, *self.unread]:
            if connection.has_stopped(now, self._limits.frame_seconds_when_short):
                connection.abort("it stopped and others wait for its memory")
        turn = self._turn
        if turn is not None and now - self._turn_since > self._limits.turn_seconds:
            turn.abort("its frame takes too long and others wait for its memory")
        self._serve_line()
        if self.is_used_up:
            self._alarm = loop.call_later(_LOOK_EVERY_SECONDS, self._look)
