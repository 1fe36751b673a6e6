"""The clock as a port: now() in milliseconds since 1970.

The one file of the pure layers that knows real time. Machines never see it: the shell asks the clock and
hands `now` on as an argument. testing/clock.py has the one that tests move by hand.
"""

from __future__ import annotations

from time import time_ns
from typing import Protocol

Ms = int


class Clock(Protocol):
    def now(self) -> Ms: ...


class SystemClock:
    """The machine's wall clock. It may step back when the machine is set right; callers bear that."""

    __slots__ = ()

    def now(self) -> Ms:
        return time_ns() // 1_000_000
