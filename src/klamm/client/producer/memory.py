"""Bytes that unsent records may take. Who finds no room waits, and is served in order."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from klamm.client.errors import TimedOut


class Memory:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._free = limit
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def free(self) -> int:
        return self._free

    def try_take(self, size: int) -> bool:
        if self._waiting or size > self._free:
            return False
        self._free -= size
        return True

    async def take(self, size: int, timeout_s: float) -> None:
        if self.try_take(size):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            async with asyncio.timeout(timeout_s):
                await turn
        except BaseException as e:
            if turn.done() and not turn.cancelled():
                self.give_back(size)
            else:
                with suppress(ValueError):
                    self._waiting.remove((size, turn))
                self._serve()
            if isinstance(e, TimeoutError):
                raise TimedOut("the buffer is full and nothing could be sent") from None
            raise

    def give_back(self, size: int) -> None:
        self._free = min(self._limit, self._free + size)
        self._serve()

    def _serve(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._free:
            size, turn = self._waiting.popleft()
            if turn.done():
                continue
            self._free -= size
            turn.set_result(None)
