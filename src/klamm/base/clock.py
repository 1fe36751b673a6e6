"""The clock as a port: two times in milliseconds, which must not be mixed.

Deadlines (sessions, timeouts, intervals) are monotonic: nobody can set that time. What is written down and compared
with timestamps of records (retention, expiry of offsets) is wall time, which may jump whenever somebody sets it right.

The one file of the pure layers that knows real time. Machines never see it: the shell asks the clock and hands on, as
an argument, the time that they need; a `Now` where they need both. testing/clock.py has one that tests move by hand.
"""

from __future__ import annotations

from time import monotonic_ns, time_ns
from typing import NamedTuple, Protocol

Ms = int


class Now(NamedTuple):
    """One moment, on both clocks."""

    monotonic: Ms
    # Since 1970.
    wall: Ms


class Clock(Protocol):
    def monotonic(self) -> Ms: ...
    def wall(self) -> Ms: ...
    def now(self) -> Now: ...


class SystemClock:
    """The machine's clocks. The wall clock may step back when the machine is set right; callers bear that."""

    __slots__ = ()

    def monotonic(self) -> Ms:
        return monotonic_ns() // 1_000_000

    def wall(self) -> Ms:
        return time_ns() // 1_000_000

    def now(self) -> Now:
        return Now(monotonic_ns() // 1_000_000, time_ns() // 1_000_000)
