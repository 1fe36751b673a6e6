"""An alarm clock for deadlines: one timer of the loop, however many wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from klamm.base.clock import Clock, Ms
from klamm.base.deadlines import Deadlines

Key = TypeVar("Key", bound=Hashable)


class Alarm(Generic[Key]):
    __slots__ = ("_at", "_clock", "_deadlines", "_handle", "_ring")

    def __init__(
        self, clock: Clock, deadlines: Deadlines[Key], ring: Callable[[Key], None]
    ) -> None:
        self._clock = clock
        self._deadlines = deadlines
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None
        self._at: Ms = 0

    def is_set(self, at: Ms) -> None:
        """Somebody's deadline was set to this time."""
        if self._handle is None or at < self._at:
            self._arm(at)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _arm(self, at: Ms) -> None:
        self.cancel()
        self._at = at
        delay = max(0, at - self._clock.monotonic()) / 1000
        self._handle = asyncio.get_running_loop().call_later(delay, self._rang)

    def _rang(self) -> None:
        self._handle = None
        for key in self._deadlines.due(self._clock.monotonic()):
            self._ring(key)
        following = self._deadlines.next
        if following is not None and self._handle is None:
            self._arm(following)
