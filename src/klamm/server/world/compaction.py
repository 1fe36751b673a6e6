"""The work of compaction: one job at a time, called from one worker that may wait.

On a real disk it is done in a process of its own (compaction_process.py), so that no request waits for the interpreter:
a thread would take turns with the one that serves, five milliseconds at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import NamedTuple, Protocol

from klamm.log.compaction.cleaner import Cleaning, Copied, Job
from klamm.log.disk import Disk


class Stopped(Exception):
    """Nobody waits for this round any more."""


class WorkerDied(Exception):
    """The process that did the work ended in the middle of it."""


class CannotStartWorker(Exception):
    """The machine has no room for another process now; that says nothing about its disks."""


class Plan(NamedTuple):
    """After the first pass: what is to be copied, and where the next round begins."""

    end_offset: int
    groups: Sequence[Sequence[int]]


class CompactionWorker(Protocol):
    def begin(self, job: Job, bytes_per_second: float) -> Plan: ...
    def copy(self, group: Sequence[int]) -> Copied | None: ...
    def rest(self) -> None:
        """Give back what it holds; there is nothing to do for now."""

    def stop(self) -> None:
        """For good, from any thread: what is under way ends with Stopped."""


class PaceTime(NamedTuple):
    """The time of whoever does the work, in seconds."""

    now: Callable[[], float] = monotonic
    sleep: Callable[[float], None] = sleep


REAL_PACE = PaceTime()


class CompactionHere:
    """In the worker that calls."""

    def __init__(self, disk: Disk, time: PaceTime = REAL_PACE) -> None:
        self._disk = disk
        self._time = time
        self._pace: Pace | None = None
        self._cleaning: Cleaning
        self._is_stopped = False

    def begin(self, job: Job, bytes_per_second: float) -> Plan:
        self._pace = Pace(bytes_per_second, self._time, is_stopped=self._is_stopped)
        self._cleaning = Cleaning(self._disk, job, self._pace)
        self._cleaning.build_map()
        return Plan(self._cleaning.end_offset, self._cleaning.groups())

    def copy(self, group: Sequence[int]) -> Copied | None:
        return self._cleaning.copy(group)

    def rest(self) -> None:
        self._pace = None

    def stop(self) -> None:
        self._is_stopped = True
        if self._pace is not None:
            self._pace.is_stopped = True


class Pace:
    """Called after every batch with the bytes that went by; waits where they were too many."""

    _LONGEST_WAIT_SECONDS = 0.1

    def __init__(
        self, bytes_per_second: float, time: PaceTime = REAL_PACE, *, is_stopped: bool = False
    ) -> None:
        self._bytes_per_second = bytes_per_second
        self._bytes = 0
        self._time = time
        self._began = time.now()
        self.is_stopped = is_stopped

    def __call__(self, size: int) -> None:
        self._bytes += size
        due = self._began + self._bytes / self._bytes_per_second
        while (wait := due - self._time.now()) > 0 and not self.is_stopped:
            self._time.sleep(min(wait, self._LONGEST_WAIT_SECONDS))
        if self.is_stopped:
            raise Stopped
