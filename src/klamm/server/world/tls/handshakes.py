"""Handshakes under way: how many, how long, and how much of the loop's time they get.

A client that means it needs some milliseconds. So whoever takes long is not missed, and when there are too many the
oldest of the address that has most of them goes: ten thousand half-open ones of one machine shut nobody else out.
A signature costs up to a millisecond of the loop; between a few of them others are served.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

MOST = 2048
SECONDS = 10.0
_TURN_SECONDS = 0.002
_SWEEP_SECONDS = 1.0


class Handshaking(Protocol):
    host: str

    def shake_hands(self) -> None: ...
    def fail(self, why: str) -> None: ...


class Handshakes:
    __slots__ = ("_count", "_is_stepping", "_most", "_queue", "_seconds", "_since", "_sweep")

    def __init__(self, *, most: int = MOST, seconds: float = SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        # By address, when each began, the oldest first.
        self._since: dict[str, dict[Handshaking, float]] = {}
        self._count = 0
        # Those that have sent something.
        self._queue: deque[Handshaking] = deque()
        self._is_stepping = False
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return self._count

    def begin(self, connection: Handshaking) -> None:
        loop = asyncio.get_running_loop()
        if self._count >= self._most:
            crowd = max(self._since, key=lambda host: len(self._since[host]))
            oldest = next(iter(self._since[crowd]))
            self.end(oldest)
            oldest.fail("too many handshakes of its address are under way")
        self._since.setdefault(connection.host, {})[connection] = loop.time()
        self._count += 1
        if self._sweep is None:
            self._sweep = loop.call_later(_SWEEP_SECONDS, self._give_up)

    def end(self, connection: Handshaking) -> None:
        of_host = self._since.get(connection.host)
        if of_host is not None and of_host.pop(connection, None) is not None:
            self._count -= 1
            if not of_host:
                del self._since[connection.host]

    def step_soon(self, connection: Handshaking) -> None:
        self._queue.append(connection)
        if not self._is_stepping:
            self._is_stepping = True
            asyncio.get_running_loop().call_soon(self._step)

    def close(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for each in self._all():
            each.fail("this node stops")

    def _step(self) -> None:
        end = perf_counter() + _TURN_SECONDS
        queue = self._queue
        try:
            while queue and perf_counter() < end:
                queue.popleft().shake_hands()
        finally:
            # Whatever one of them runs into, the others go on.
            if queue:
                asyncio.get_running_loop().call_soon(self._step)
            else:
                self._is_stepping = False

    def _give_up(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = None
        late = loop.time() - self._seconds
        for each in self._all(lambda since: since < late):
            each.fail(f"it took longer than {self._seconds:.0f} seconds")
        if self._since and self._sweep is None:
            self._sweep = loop.call_later(_SWEEP_SECONDS, self._give_up)

    def _all(self, chosen: Callable[[float], bool] = lambda since: True) -> list[Handshaking]:
        return [
            each
            for of_host in self._since.values()
            for each, since in of_host.items()
            if chosen(since)
        ]
