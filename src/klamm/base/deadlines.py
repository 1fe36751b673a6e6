"""Deadlines: keyed alarms without a clock. A machine sets them, the shell sleeps until `next`.

A heap with lazy deletion: setting a key again or cancelling it leaves the old entry in the heap, to be
dropped when it comes up. Stale entries are swept out when they outnumber the live ones, so a heartbeat that
moves its session's alarm a thousand times costs no memory.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from klamm.base.clock import Ms

Key = TypeVar("Key", bound=Hashable)

# Below this size sweeping is not worth the while.
_SMALL = 64


class Deadlines(Generic[Key]):
    __slots__ = ("_alarms", "_heap", "_settings")

    def __init__(self) -> None:
        # Entries are (at, n-th setting, key). The number makes equal times come up in the order they were
        # set, tells live entries from stale ones, and keeps the heap from comparing keys.
        self._heap: list[tuple[Ms, int, Key]] = []
        self._alarms: dict[Key, tuple[Ms, int]] = {}
        self._settings = 0

    def __len__(self) -> int:
        return len(self._alarms)

    def __contains__(self, key: Key) -> bool:
        return key in self._alarms

    def at(self, key: Key) -> Ms | None:
        """When this key's alarm is due, or None if it has none."""
        alarm = self._alarms.get(key)
        return alarm[0] if alarm else None

    def set(self, key: Key, at: Ms) -> None:
        """A key has one alarm: setting it again moves it, to the end of its new time's queue."""
        self._settings += 1
        self._alarms[key] = (at, self._settings)
        heappush(self._heap, (at, self._settings, key))
        self._sweep()

    def cancel(self, key: Key) -> None:
        """Cancelling what is not set is fine: the caller need not know whether it has fired."""
        if self._alarms.pop(key, None) is not None:
            self._sweep()

    @property
    def next(self) -> Ms | None:
        # Asked after every request to a coordinator; so `_drop_stale_top` is written out.
        heap, alarms = self._heap, self._alarms
        while heap:
            at, setting, key = heap[0]
            alarm = alarms.get(key)
            if alarm is not None and alarm[1] == setting:
                return at
            heappop(heap)
        return None

    def take(self, now: Ms) -> Key | None:
        """Take out the one key whose time came first; None if there is none yet."""
        self._drop_stale_top()
        if not self._heap or self._heap[0][0] > now:
            return None
        key = heappop(self._heap)[2]
        del self._alarms[key]
        return key

    def due(self, now: Ms) -> list[Key]:
        """Take out the keys whose time has come, earliest first."""
        keys: list[Key] = []
        self._drop_stale_top()
        while self._heap and self._heap[0][0] <= now:
            key = heappop(self._heap)[2]
            del self._alarms[key]
            keys.append(key)
            self._drop_stale_top()
        return keys

    def _drop_stale_top(self) -> None:
        while self._heap and not self._is_live(self._heap[0]):
            heappop(self._heap)

    def _is_live(self, entry: tuple[Ms, int, Key]) -> bool:
        at, setting, key = entry
        return self._alarms.get(key) == (at, setting)

    def _sweep(self) -> None:
        if len(self._heap) > 2 * len(self._alarms) + _SMALL:
            self._heap = [entry for entry in self._heap if self._is_live(entry)]
            heapify(self._heap)
