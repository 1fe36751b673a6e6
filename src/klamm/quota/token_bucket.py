"""Tokens that come at a rate, a second's worth of which may be taken at once."""

from __future__ import annotations

from klamm.base.clock import Ms


class TokenBucket:
    __slots__ = ("_at", "_tokens")

    def __init__(self, rate: float, now: Ms) -> None:
        self._tokens = max(1.0, rate)
        self._at = now

    def take(self, rate: float, now: Ms) -> bool:
        most = max(1.0, rate)
        self._tokens = min(most, self._tokens + (now - self._at) * rate / 1000)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def is_full(self, rate: float, now: Ms) -> bool:
        return self._tokens + (now - self._at) * rate / 1000 >= max(1.0, rate)
