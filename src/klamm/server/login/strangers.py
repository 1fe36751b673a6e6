"""Those who have connected and not logged in yet. There are only so many places for them.

When there are too many, the oldest of the address that has most of them goes: whoever fills the places shuts out nobody but
itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from klamm.server.network.connection import Connection

MOST = 2048


class Strangers:
    __slots__ = ("_by_host", "_count", "_most")

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        # The oldest first.
        self._by_host: dict[str, dict[Connection, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def enter(self, connection: Connection) -> None:
        if self._count >= self._most:
            crowd = max(self._by_host.values(), key=len)
            oldest = next(iter(crowd))
            self.leave(oldest)
            oldest.abort("too many of its address have not logged in")
        self._by_host.setdefault(connection.peer_host, {})[connection] = None
        self._count += 1

    def leave(self, connection: Connection) -> None:
        """It has logged in, or is gone."""
        of_host = self._by_host.get(connection.peer_host)
        if of_host is not None and connection in of_host:
            del of_host[connection]
            self._count -= 1
            if not of_host:
                del self._by_host[connection.peer_host]
