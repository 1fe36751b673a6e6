"""Turns by the processor's time: how long a piece of work goes on before others are served."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, perf_counter

TURN_SECONDS = 0.005


class TimedTurn:
    __slots__ = ("_end",)

    def __init__(self) -> None:
        self._end = perf_counter() + TURN_SECONDS

    def is_over(self) -> bool:
        return perf_counter() >= self._end


class TimedTurns:
    __slots__ = ("seconds", "time")

    def __init__(self) -> None:
        self.seconds = TURN_SECONDS
        self.time: Callable[[], float] = monotonic

    def begin(self) -> TimedTurn:
        return TimedTurn()
