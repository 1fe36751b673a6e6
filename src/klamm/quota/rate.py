"""How fast something went over the last windows, as Kafka measures it: whole windows, the one under way among them."""

from __future__ import annotations

from collections import deque

from klamm.base.clock import Ms

# Answers have 32 bits for it; and the smallest of quotas must not ask for an endless time.
_LONGEST_MS = (1 << 31) - 1


class Rate:
    """So much a second, over at most `windows` windows of `window_ms` each. Times are monotonic."""

    __slots__ = ("_samples", "_span", "_total", "_window_ms")

    def __init__(self, windows: int, window_ms: Ms) -> None:
        self._window_ms = window_ms
        self._span = windows * window_ms
        # When each window began, and what it holds.
        self._samples: deque[list[float]] = deque()
        self._total = 0.0

    def record(self, amount: float, now: Ms) -> None:
        self._forget(now)
        if not self._samples or now - self._samples[-1][0] >= self._window_ms:
            self._samples.append([now, 0.0])
        self._samples[-1][1] += amount
        self._total += amount

    def wait_ms(self, bound: float, now: Ms) -> Ms:
        """How long nothing more should come, so that the rate is `bound` again."""
        self._forget(now)
        elapsed = self._elapsed(now)
        observed = self._total / elapsed * 1000
        if observed <= bound:
            return 0
        return int(min((observed - bound) / bound * elapsed, _LONGEST_MS))

    def is_idle(self, now: Ms) -> bool:
        self._forget(now)
        return not self._samples

    def _elapsed(self, now: Ms) -> Ms:
        """Never less than all windows but one: a burst at the beginning is not taken for the rate of a second."""
        least = self._span - self._window_ms
        begun = now - self._samples[0][0] if self._samples else 0
        return int(max(begun, least, 1))

    def _forget(self, now: Ms) -> None:
        samples = self._samples
        while samples and now - samples[0][0] >= self._span:
            self._total -= samples.popleft()[1]
        if not samples:
            self._total = 0.0
