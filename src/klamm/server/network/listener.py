"""A listening socket and the connections that came through it: accept, limits, idle ones closed."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

from klamm.server.network.buffers import ReceiveBuffers
from klamm.server.network.connection import Connection, Dispatch
from klamm.server.network.limits import Limits

log = logging.getLogger(__name__)


class Listener:
    """`name` is Kafka's listener name; it decides which APIs are served and which address is advertised."""

    def __init__(
        self, name: str, host: str, port: int, *, limits: Limits, is_controller: bool
    ) -> None:
        """Bind at once, so that port 0 is known before anything is advertised; serve later."""
        self.name = name
        self.is_controller = is_controller
        # Whether clients are told a configured address, or the one that they came by.
        self.is_advertised = False
        self.max_request_bytes = limits.max_request_bytes
        self._socket = _bind(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        self.time: Callable[[], float] = asyncio.get_running_loop().time
        self._limits = limits
        self._buffers = ReceiveBuffers()
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None

    async def serve(self, dispatch: Dispatch) -> None:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self, dispatch, self._buffers),
            sock=self._socket,
            backlog=self._limits.backlog,
        )
        self._schedule_sweep()

    def close(self) -> None:
        self._socket.close() if self._server is None else self._server.close()
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self._connections):
            connection.close()

    def opened(self, connection: Connection) -> None:
        connection.last_active = self.time()
        self._connections.add(connection)
        reason = self._limits.enter(connection.peer_host)
        if reason is not None:
            log.warning("refused a connection: peer=%s reason=%s", connection.peer_host, reason)
            connection.close()

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._limits.leave(connection.peer_host)

    def _schedule_sweep(self) -> None:
        allowed = self._limits.max_idle_seconds
        if allowed is not None:
            every = min(max(allowed / 4, 0.05), 30.0)
            self._sweep = asyncio.get_running_loop().call_later(every, self._close_idle, allowed)

    def _close_idle(self, allowed: float) -> None:
        oldest = self.time() - allowed
        for connection in [c for c in self._connections if c.last_active < oldest and c.is_idle]:
            connection.close()
        self._schedule_sweep()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host or not host else socket.AF_INET
    infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    info = next((i for i in infos if i[0] == family), infos[0])
    listening = socket.socket(info[0], socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if info[0] == socket.AF_INET6 and not host:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(info[4])
    except BaseException:
        listening.close()
        raise
    return listening
