"""Who may connect: connections are counted, in all, by address and by second. One object for all listeners of a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from klamm.server.network.limits import Limits

# While all places are taken, this is how often we look whether one is free.
_FULL_SECONDS = 0.1


class Admission:
    __slots__ = ("_connections", "_credit", "_credit_at", "_limits", "_total", "may_connect")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._connections: Counter[str] = Counter()
        self._total = 0
        self._credit = float(max(1, limits.max_connection_rate))
        self._credit_at = 0.0
        # Whether an address has not come too often; its quota says so.
        self.may_connect: Callable[[str], bool] = lambda _: True

    def __len__(self) -> int:
        return self._total

    def pause(self, now: float) -> float:
        """How many seconds to wait before the next connection is accepted; until then it queues in the kernel."""
        if self._total >= self._limits.max_connections:
            return _FULL_SECONDS
        rate = self._limits.max_connection_rate
        if not rate:
            return 1.0
        # A second's worth of connections may come at once.
        earned = (now - self._credit_at) * rate
        self._credit = min(float(rate), self._credit + earned)
        self._credit_at = now
        return 0.0 if self._credit >= 1 else (1 - self._credit) / rate

    def enter(self, host: str) -> bool:
        """Count a connection, unless its address has too many."""
        limits = self._limits
        allowed = limits.connections_per_ip_overrides.get(host, limits.max_connections_per_ip)
        self._credit -= 1
        if self._connections[host] >= allowed:
            return False
        self._connections[host] += 1
        self._total += 1
        return True

    def leave(self, host: str) -> None:
        self._total -= 1
        self._connections[host] -= 1
        if not self._connections[host]:
            del self._connections[host]
