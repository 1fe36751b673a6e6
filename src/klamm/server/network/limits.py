"""How many connections a node takes, from all and from one address; how large a frame, how long idle.

One object for all listeners of a node. Every number is a Kafka setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

# Above this an unread answer stops the connection's own requests, and nobody else's.
WRITE_BUFFER_BYTES = 1024 * 1024


class Limits:
    def __init__(
        self,
        *,
        max_request_bytes: int,
        max_idle_ms: int,
        max_connections: int,
        max_connections_per_ip: int,
        overrides_per_ip: Mapping[str, int],
        backlog: int,
    ) -> None:
        self.max_request_bytes = max_request_bytes
        # None: connections may idle for ever.
        self.max_idle_seconds = None if max_idle_ms < 0 else max_idle_ms / 1000
        self.backlog = backlog
        self._max_connections = max_connections
        self._max_per_ip = max_connections_per_ip
        self._overrides = overrides_per_ip
        self._connections: Counter[str] = Counter()
        self._total = 0

    def enter(self, host: str) -> str | None:
        """Count a connection. Returns the name of the setting that forbids it, if one does."""
        self._connections[host] += 1
        self._total += 1
        if self._total > self._max_connections:
            return "max.connections"
        if self._connections[host] > self._overrides.get(host, self._max_per_ip):
            return "max.connections.per.ip"
        return None

    def leave(self, host: str) -> None:
        self._total -= 1
        self._connections[host] -= 1
        if not self._connections[host]:
            del self._connections[host]
