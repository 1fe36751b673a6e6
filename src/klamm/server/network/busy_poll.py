"""Look for the next request for a moment before the loop goes to sleep, as long as that pays.

To go to sleep and to be woken costs a broker about as much as a small request does, and the one who asks waits for it.
So while requests follow each other closely the loop keeps looking. One look in vain ends it, until as many requests
have come closely again: a quiet broker looks at nothing, a busy one looks in vain for one window in so many requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

# So many requests must have come within the window of the one before: by chance they hardly do.
_IN_A_ROW = 8


class BusyPoll:
    __slots__ = ("_in_a_row", "_is_looking", "_last", "_time", "_window")

    def __init__(self, window_seconds: float, time: Callable[[], float] = monotonic) -> None:
        """Without a window nothing ever comes closely. The loop's own clock would be too coarse."""
        self._time = time
        self._window = window_seconds
        self._last = 0.0
        self._in_a_row = 0
        self._is_looking = False

    @property
    def is_looking(self) -> bool:
        return self._is_looking

    def arrived(self) -> None:
        """Something was read."""
        now = self._time()
        if now - self._last >= self._window:
            self._in_a_row = 0
        elif not self._is_looking:
            self._in_a_row += 1
            if self._in_a_row >= _IN_A_ROW:
                self._is_looking = True
                asyncio.get_running_loop().call_soon(self._look)
        self._last = now

    def _look(self) -> None:
        """A loop that has something to do at once only asks what has come, and does not wait for it."""
        if self._time() - self._last < self._window:
            asyncio.get_running_loop().call_soon(self._look)
        else:
            self._is_looking = False
            self._in_a_row = 0
