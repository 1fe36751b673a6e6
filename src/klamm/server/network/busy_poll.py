"""Look for the next request for a moment before the loop goes to sleep, as long as that pays.

To go to sleep and to be woken costs a broker about as much as a small request does, and the one who asks waits for it.
So while requests follow each other closely the loop keeps looking. It ends when it has looked in vain for a window, and
begins again when enough requests have come closely. How many are enough grows each time it did not pay: a quiet broker
never looks, nor one whose clients take their time, and a busy one rarely looks in vain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

# So many requests in a row must have come closely, by chance they hardly do; and after looks that did not pay.
_FEWEST = 8
_MOST = 1024
# Who finds us asleep must wake us first, and is woken by the answer: so much later it comes than it would otherwise.
_ASLEEP = 3


class BusyPoll:
    __slots__ = ("_close", "_count", "_enough", "_is_looking", "_last", "_time", "_window")

    def __init__(self, window_seconds: float, time: Callable[[], float]) -> None:
        """Without a window nothing ever comes closely. The loop's own clock would be too coarse."""
        self._time = time
        self._window = window_seconds
        self._close = _ASLEEP * window_seconds
        self._last = 0.0
        # Requests in a row that came closely; from the beginning of a look, those that it found.
        self._count = 0
        self._enough = _FEWEST
        self._is_looking = False

    @property
    def is_looking(self) -> bool:
        return self._is_looking

    def handled(self) -> None:
        """Something was read and, if it was a request, answered or parked."""
        now = self._time()
        if now - self._last < self._close:
            self._count += 1
            if self._count >= self._enough and not self._is_looking:
                self._is_looking = True
                self._count = 0
                asyncio.get_running_loop().call_soon(self._look)
        else:
            self._count = 0
        self._last = now

    def _look(self) -> None:
        """A loop that has something to do at once only asks what has come, and does not wait for it."""
        if self._time() - self._last < self._window:
            asyncio.get_running_loop().call_soon(self._look)
            return
        self._is_looking = False
        has_paid = self._count >= _FEWEST
        self._enough = _FEWEST if has_paid else min(2 * self._enough, _MOST)
        self._count = 0
