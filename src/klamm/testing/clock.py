"""Clocks that stand still until a test moves them."""

from __future__ import annotations

from klamm.base.clock import Ms, Now


class ManualClock:
    """Both times begin at the same number unless a test wants to see them apart."""

    __slots__ = ("_monotonic", "_wall")

    def __init__(self, now: Ms = 0, *, monotonic: Ms | None = None) -> None:
        self._wall = now
        self._monotonic = now if monotonic is None else monotonic

    def monotonic(self) -> Ms:
        return self._monotonic

    def wall(self) -> Ms:
        return self._wall

    def now(self) -> Now:
        return Now(self._monotonic, self._wall)

    def advance(self, ms: Ms) -> Ms:
        """Move forward, and say what the wall time is then."""
        assert ms >= 0, "use set_to() to show what a clock does that steps back"
        self._monotonic += ms
        self._wall += ms
        return self._wall

    def set_to(self, wall: Ms) -> None:
        """The wall clock jumps, also backwards: real clocks do. Time itself does not."""
        self._wall = wall
