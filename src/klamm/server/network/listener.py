"""A listening socket and the connections that came through it: accepted within the limits, closed when overdue.

Connections are accepted here and not by asyncio's server, which cannot wait: a connection for which there is no place,
no file descriptor or no right to come this second stays in the kernel's queue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from klamm.security.principal_builder import PrincipalBuilder
from klamm.server.authorization.audit import Audit
from klamm.server.login.logins import Logins
from klamm.server.network.connection import Connection, Dispatch
from klamm.server.network.shared import Shared
from klamm.server.world.ports import Arrival, Network

if TYPE_CHECKING:
    from klamm.security.certificate_names import CertificateNames

log = logging.getLogger(__name__)

# Before others are served again.
_ACCEPTS_AT_ONCE = 64
# Without descriptors nothing can be accepted until somebody closes some.
_NO_DESCRIPTOR_SECONDS = 1.0
_LONGEST_BETWEEN_SWEEPS = 5.0


class Listener:
    """`name` is Kafka's listener name; it decides which APIs are served and which address is advertised."""

    def __init__(
        self,
        name: str,
        host: str,
        port: int,
        *,
        shared: Shared,
        network: Network,
        is_controller: bool,
        tls: str | None = None,
    ) -> None:
        """Bind at once, so that port 0 is known before anything is advertised; serve later."""
        self.name = name
        self.is_controller = is_controller
        # Hears of each connection that has ended.
        self.on_closed: Callable[[Connection], None] | None = None
        # Whether clients are told a configured address, or the one that they came by.
        self.is_advertised = False
        # Who names the user of a connection, where it is not Kafka's own way; and who notes a login that failed.
        self.principal_builder: PrincipalBuilder | None = None
        self.audit: Audit | None = None
        self.limits = shared.limits
        # Whose certificate is whose, where clients show one to say who they are.
        self.names: CertificateNames | None = None
        self._port = network.bind(host, port, tls)
        self.host, self.port = self._port.host, self._port.number
        self._loop = asyncio.get_running_loop()
        self.time: Callable[[], float] = self._loop.time
        self._shared = shared
        self._dispatch: Dispatch | None = None
        self._logins: Logins | None = None
        # In the order in which they came.
        self._connections: dict[Connection, None] = {}
        self._adoptions: dict[asyncio.Task[None], None] = {}
        self._pause: asyncio.TimerHandle | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    def open(self) -> None:
        """Whoever comes from now on is not refused, and waits until it is served."""
        self._port.listen(self.limits.backlog, self._accept)
        self._port.pause()

    async def serve(self, dispatch: Dispatch, logins: Logins | None = None) -> None:
        """`logins`: how clients say who they are, where they have to."""
        self._dispatch = dispatch
        self._logins = logins
        self._port.resume()
        self._sweep_later()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._port.close()
        for timer in (self._pause, self._sweep):
            if timer is not None:
                timer.cancel()
        for adoption in list(self._adoptions):
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
                arrival = self._port.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return
            except OSError as e:
                self.complain("cannot accept connections", self.name, str(e))
                self._pause_accepting(_NO_DESCRIPTOR_SECONDS)
                return
            if not admission.may_connect(arrival.host):
                self.complain("refused a connection", arrival.host, "connection_creation_rate")
                arrival.close()
            elif admission.enter(arrival.host):
                adoption = self._loop.create_task(self._adopt(arrival))
                self._adoptions[adoption] = None
                adoption.add_done_callback(self._adoptions.pop)
            else:
                self.complain("refused a connection", arrival.host, "max.connections.per.ip")
                arrival.close()

    async def _adopt(self, arrival: Arrival) -> None:
        assert self._dispatch is not None
        connection = Connection(self, self._dispatch, self._shared, arrival=arrival)
        if self._logins is not None:
            connection.ask_who(self._logins.login(self._dispatch, self.time()))
        try:
            await arrival.adopt(connection)
        except BaseException as e:
            if connection not in self._connections:
                self._shared.admission.leave(arrival.host)
                arrival.close()
            if not isinstance(e, OSError):
                raise

    def _pause_accepting(self, seconds: float) -> None:
        self._port.pause()
        self._pause = self._loop.call_later(seconds, self._resume_accepting)

    def _resume_accepting(self) -> None:
        self._pause = None
        self._port.resume()

    # -- connections ------------------------------------------------------------------------------------------------

    def opened(self, connection: Connection) -> None:
        self._connections[connection] = None
        if self._logins is not None:
            self._logins.strangers.enter(connection)
        if self._is_closed:
            connection.close()

    def closed(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        if self._logins is not None:
            self._logins.strangers.leave(connection)
        self._shared.admission.leave(connection.peer_host)
        if self.on_closed is not None:
            self.on_closed(connection)

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
