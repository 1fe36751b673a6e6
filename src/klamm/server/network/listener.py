"""A listening socket and the connections that came through it: accepted within the limits, closed when overdue.

Connections are accepted here and not by asyncio's server, which cannot wait: a connection for which there is no place,
no file descriptor or no right to come this second stays in the kernel's queue.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

from klamm.server.network.connection import Connection, Dispatch
from klamm.server.network.shared import Shared

log = logging.getLogger(__name__)

# Before others are served again.
_ACCEPTS_AT_ONCE = 64
# Without descriptors nothing can be accepted until somebody closes some.
_NO_DESCRIPTOR_SECONDS = 1.0
_LONGEST_BETWEEN_SWEEPS = 5.0
# A client that waits for an answer may vanish without a word; then the kernel finds out.
_PROBE_AFTER_SECONDS = 300


class Listener:
    """`name` is Kafka's listener name; it decides which APIs are served and which address is advertised."""

    def __init__(
        self, name: str, host: str, port: int, *, shared: Shared, is_controller: bool
    ) -> None:
        """Bind at once, so that port 0 is known before anything is advertised; serve later."""
        self.name = name
        self.is_controller = is_controller
        # Whether clients are told a configured address, or the one that they came by.
        self.is_advertised = False
        self.limits = shared.limits
        self._socket = _bind(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        self._loop = asyncio.get_running_loop()
        self.time: Callable[[], float] = self._loop.time
        self._shared = shared
        self._dispatch: Dispatch | None = None
        self._connections: set[Connection] = set()
        self._adoptions: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def serve(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch
        self._socket.listen(self.limits.backlog)
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._accept)
        self._sweep_later()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._loop.remove_reader(self._socket)
        self._socket.close()
        for timer in (self._pause, self._sweep):
            if timer is not None:
                timer.cancel()
        for adoption in self._adoptions:
            adoption.cancel()
        for connection in list(self._connections):
            connection.close()

    # -- accepting --------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        admission = self._shared.admission
        for _ in range(_ACCEPTS_AT_ONCE):
            seconds = admission.pause(self.time())
            if seconds:
                self._pause_accepting(seconds)
                return
            try:
                client, address = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return
            except OSError as e:
                self.complain("cannot accept connections", self.name, str(e))
                self._pause_accepting(_NO_DESCRIPTOR_SECONDS)
                return
            # An IPv4 client of an IPv6 socket is counted, and limited, by its own address.
            host = address[0].removeprefix("::ffff:")
            if admission.enter(host):
                adoption = self._loop.create_task(self._adopt(client, host))
                self._adoptions.add(adoption)
                adoption.add_done_callback(self._adoptions.discard)
            else:
                self.complain("refused a connection", host, "max.connections.per.ip")
                client.close()

    async def _adopt(self, client: socket.socket, host: str) -> None:
        assert self._dispatch is not None
        connection = Connection(self, self._dispatch, self._shared, client=client, peer_host=host)
        try:
            client.setblocking(False)
            await self._loop.connect_accepted_socket(lambda: connection, client)
        except BaseException as e:
            if connection not in self._connections:
                self._shared.admission.leave(host)
                client.close()
            if not isinstance(e, OSError):
                raise

    def _pause_accepting(self, seconds: float) -> None:
        self._loop.remove_reader(self._socket)
        self._pause = self._loop.call_later(seconds, self._resume_accepting)

    def _resume_accepting(self) -> None:
        self._pause = None
        self._loop.add_reader(self._socket, self._accept)

    # -- connections ------------------------------------------------------------------------------------------------

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)
        if self._is_closed:
            connection.close()

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._shared.admission.leave(connection.peer_host)

    def complain(self, what: str, who: str, why: str) -> None:
        self._shared.complaints.warn(self.time(), "%s: peer=%s reason=%s", what, who, why)

    def _sweep_later(self) -> None:
        limits = self.limits
        shortest = min(
            limits.first_request_seconds,
            limits.frame_seconds,
            limits.linger_seconds,
            limits.max_idle_seconds or limits.frame_seconds,
        )
        every = min(max(shortest / 4, 0.05), _LONGEST_BETWEEN_SWEEPS)
        self._sweep = self._loop.call_later(every, self._close_overdue)

    def _close_overdue(self) -> None:
        now = self.time()
        self._shared.complaints.catch_up(now)
        for connection in list(self._connections):
            why = connection.overdue(now)
            if why is not None:
                connection.abort(why)
            elif connection.is_idle(now):
                connection.close()
        self._sweep_later()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host or not host else socket.AF_INET
    infos = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    info = next((i for i in infos if i[0] == family), infos[0])
    listening = socket.socket(info[0], socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # What is accepted later inherits these.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_AFTER_SECONDS)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if info[0] == socket.AF_INET6 and not host:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(info[4])
    except BaseException:
        listening.close()
        raise
    return listening
