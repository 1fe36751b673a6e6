"""Deadlines: keyed alarms without a clock. A machine sets them, the shell sleeps until `next`.

A heap with lazy deletion: cancelling a key or setting it to an earlier time leaves the old entry in the heap, to be
dropped when it comes up. A later time needs no entry of its own: the old one comes up first and is put back then, so
a heartbeat that moves its session's alarm a thousand times costs neither memory nor a walk through the heap.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic, TypeVar

from klamm.base.clock import Ms

Key = TypeVar("Key", bound=Hashable)

# Below this size sweeping is not worth the while.
_SMALL = 64


class Deadlines(Generic[Key]):
    __slots__ = ("_alarms", "_heap", "_settings")

    def __init__(self) -> None:
        # Entries are (at, n-th setting, key). The number makes equal times come up in the order they were
        # set, tells live entries from stale ones, and keeps the heap from comparing keys. Every key with an alarm has
        # an entry that is not later than it.
        self._heap: list[tuple[Ms, int, Key]] = []
        self._alarms: dict[Key, tuple[Ms, int]] = {}
        self._settings = 0

    def __len__(self) -> int:
        return len(self._alarms)

    def __contains__(self, key: Key) -> bool:
        return key in self._alarms

    def __iter__(self) -> Iterator[Key]:
        return iter(self._alarms)

    def at(self, key: Key) -> Ms | None:
        """When this key's alarm is due, or None if it has none."""
        alarm = self._alarms.get(key)
        return alarm[0] if alarm else None

    def set(self, key: Key, at: Ms) -> None:
        """A key has one alarm: setting it again moves it, to the end of its new time's queue."""
        setting = self._settings = self._settings + 1
        alarms = self._alarms
        before = alarms.get(key)
        alarms[key] = (at, setting)
        if before is None or at < before[0]:
            heappush(self._heap, (at, setting, key))
            self._sweep()

    def cancel(self, key: Key) -> None:
        """Cancelling what is not set is fine: the caller need not know whether it has fired."""
        if self._alarms.pop(key, None) is not None:
            self._sweep()

    @property
    def next(self) -> Ms | None:
        heap, alarms = self._heap, self._alarms
        while heap:
            at, setting, key = heap[0]
            alarm = alarms.get(key)
            if alarm is None or alarm[0] < at:
                heappop(heap)
            elif alarm[1] == setting:
                return at
            else:
                heapreplace(heap, (*alarm, key))
        return None

    def take(self, now: Ms) -> Key | None:
        """Take out the one key whose time came first; None if there is none yet."""
        at = self.next
        if at is None or at > now:
            return None
        key = heappop(self._heap)[2]
        del self._alarms[key]
        return key

    def due(self, now: Ms) -> list[Key]:
        """Take out the keys whose time has come, earliest first."""
        keys: list[Key] = []
        while (key := self.take(now)) is not None:
            keys.append(key)
        return keys

    def _sweep(self) -> None:
        """Stale entries are swept out when they outnumber the live ones."""
        if len(self._heap) > 2 * len(self._alarms) + _SMALL:
            self._heap = [(*alarm, key) for key, alarm in self._alarms.items()]
            heapify(self._heap)
