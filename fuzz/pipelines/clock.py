"""What can be said of a watermark without knowing where Spark cuts batches.

A run ends when all it was sent is processed, so at its end the watermark is known; within a run it is somewhere between
that of the run before and its own. Spark may also push filters below the place where it looks at times, so that rows that
never reach an operator may have moved its watermark or not.
"""

from collections.abc import Iterable
from dataclasses import dataclass


class Unclear(Exception):
    """What becomes of a record would depend on batches: the case is drawn again."""


@dataclass(frozen=True, slots=True)
class Clock:
    """`highest[run]`: what the watermark may be after this run at most; `lowest[run]`: what it is at least."""

    delay_ms: int
    highest: tuple[int, ...]
    lowest: tuple[int, ...] = ()

    @classmethod
    def of(cls, delay_ms: int, runs: int, times: Iterable[tuple[int, int]]) -> "Clock":
        """`times`: runs and the times that the source's rows have."""
        return cls(delay_ms, _watermarks(delay_ms, runs, times))

    def seen_by(self, times: Iterable[tuple[int, int]]) -> "Clock":
        """For an operator that these rows reach."""
        lowest = _watermarks(self.delay_ms, len(self.highest), times)
        return Clock(self.delay_ms, self.highest, lowest)

    def held_back_by(self, times: Iterable[tuple[int, int]]) -> "Clock":
        """Of two sources that are joined, the one that is behind has the watermark."""
        others = _watermarks(self.delay_ms, len(self.highest), times)
        lowest = tuple(min(pair) for pair in zip(self.lowest, others, strict=True))
        return Clock(self.delay_ms, self.highest, lowest)

    def is_past(self, time_ms: int, run: int) -> bool:
        """Whether the watermark had passed this time when a record of this run came."""
        if run and time_ms <= self.lowest[run - 1]:
            return True
        if time_ms > self.highest[run]:
            return False
        raise Unclear

    def is_past_at_last(self, time_ms: int) -> bool | None:
        """After the last run; None if nobody can tell."""
        if time_ms <= self.lowest[-1]:
            return True
        return False if time_ms > self.highest[-1] else None


def _watermarks(delay_ms: int, runs: int, times: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    latest = [0] * runs
    for run, time_ms in times:
        latest[run] = max(latest[run], time_ms)
    return tuple(max(0, max(latest[: run + 1]) - delay_ms) for run in range(runs))
