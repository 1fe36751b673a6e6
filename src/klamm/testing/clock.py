"""A clock that stands still until a test moves it."""

from __future__ import annotations

from klamm.base.clock import Ms


class ManualClock:
    __slots__ = ("_now",)

    def __init__(self, now: Ms = 0) -> None:
        self._now = now

    def now(self) -> Ms:
        return self._now

    def advance(self, ms: Ms) -> Ms:
        """Move forward, and say what the time is then."""
        assert ms >= 0, "use set_to() to show what a clock does that steps back"
        self._now += ms
        return self._now

    def set_to(self, now: Ms) -> None:
        """Jump, also backwards: real clocks do."""
        self._now = now
