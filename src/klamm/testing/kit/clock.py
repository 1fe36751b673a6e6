"""Time that a test moves on: the broker's clocks, and the loop that wakes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic, monotonic_ns, time_ns
from typing import Any

from klamm.base.clock import Ms, Now


class BrokerClock:
    """`broker.clock`: the broker's time, which goes on by itself and further when a test says so."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self._call("now") / 1000, UTC)

    def advance(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        milliseconds: float = 0,
    ) -> datetime:
        """Retention, sessions, transactions and all else that waits for time find that it has passed."""
        by = timedelta(
            days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds
        )
        if by < timedelta():
            raise ValueError("time does not go back")
        self._call("advance", round(by / timedelta(milliseconds=1)))
        return self.now


class MovedLoop(asyncio.SelectorEventLoop):
    """asyncio's own. What is due after a move is done in its next turn."""

    _ahead_seconds = 0.0

    def time(self) -> float:
        return monotonic() + self._ahead_seconds

    def move(self, seconds: float) -> None:
        """To be called on the loop: it does not wake for it."""
        self._ahead_seconds += seconds


class MovedClock:
    """The machine's clocks, as far ahead as a test has moved them."""

    __slots__ = ("_ahead_ms", "_wall_ahead_ms")

    def __init__(self) -> None:
        self._ahead_ms = 0
        self._wall_ahead_ms = 0

    def monotonic(self) -> Ms:
        return monotonic_ns() // 1_000_000 + self._ahead_ms

    def wall(self) -> Ms:
        return time_ns() // 1_000_000 + self._wall_ahead_ms

    def now(self) -> Now:
        return Now(self.monotonic(), self.wall())

    def move(self, ms: Ms) -> None:
        self._ahead_ms += ms
        self._wall_ahead_ms += ms

    def set_right(self) -> None:
        """The wall shows the machine's time again. The other clock cannot go back."""
        self._wall_ahead_ms = 0
