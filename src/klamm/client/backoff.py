"""How long to wait before trying again: twice as long each time, up to a limit, and never all clients at once."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

_JITTER = 0.2


@dataclass(frozen=True, slots=True)
class Backoff:
    initial_ms: int = 100
    max_ms: int = 1000

    def delay_ms(self, attempt: int, rng: Random) -> float:
        """After the attempt of this number, which counts from 0 (KIP-580)."""
        # The shift is limited: the power of a very long outage would be a number of many digits.
        wanted = min(self.initial_ms << min(attempt, 30), self.max_ms)
        return wanted * rng.uniform(1 - _JITTER, 1 + _JITTER)
