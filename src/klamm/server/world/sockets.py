"""The network as sockets of the operating system."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from klamm.base.settings.ssl import SslSettings
from klamm.log.disk import File, RealFile
from klamm.server.world.ports import Arrival, Buffer, Certificates

if TYPE_CHECKING:
    from klamm.server.world.tls.listening import TlsSide

# A client that waits for an answer may vanish without a word; then the kernel finds out.
_PROBE_AFTER_SECONDS = 300
# macOS has another name for the one, and nothing for the other.
_KEEP_IDLE: int = getattr(socket, "TCP_KEEPIDLE", getattr(socket, "TCP_KEEPALIVE", 0))
_MORE: int = getattr(socket, "MSG_MORE", 0)
_LONGEST_DOCUMENT = 1024 * 1024


class SocketWire:
    __slots__ = ("_fileno", "_socket", "send")

    def __init__(self, client: socket.socket) -> None:
        self._socket = client
        self._fileno = client.fileno
        # The socket's own method: nothing stands between it and the hot path.
        self.send: Callable[[Buffer], int] = client.send

    def send_more(self, data: Buffer) -> int:
        return self._socket.send(data, _MORE)

    def send_file(self, file: File, position: int, size: int) -> int | None:
        if not isinstance(file, RealFile):
            return None
        return os.sendfile(self._fileno(), file.fileno(), position, size)


class SocketArrival:
    __slots__ = ("_socket", "host", "wire")

    def __init__(self, client: socket.socket, host: str) -> None:
        self._socket = client
        self.host = host
        self.wire = SocketWire(client)

    async def adopt(self, protocol: asyncio.BufferedProtocol) -> None:
        loop = asyncio.get_running_loop()
        self._socket.setblocking(False)
        await loop.connect_accepted_socket(lambda: protocol, self._socket)

    def close(self) -> None:
        self._socket.close()


class SocketPort:
    def __init__(self, listening: socket.socket, tls: TlsSide | None) -> None:
        self._socket = listening
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._on_arrival: Callable[[], None] | None = None
        self.host: str
        self.number: int
        self.host, self.number = listening.getsockname()[:2]

    def listen(self, backlog: int, on_arrival: Callable[[], None]) -> None:
        self._on_arrival = on_arrival
        self._socket.listen(backlog)
        self._socket.setblocking(False)
        self.resume()

    def accept(self) -> Arrival:
        client, address = self._socket.accept()
        # An IPv4 client of an IPv6 socket is counted, and limited, by its own address.
        host = address[0].removeprefix("::ffff:")
        return self._tls.arrived(client, host) if self._tls else SocketArrival(client, host)

    def pause(self) -> None:
        self._loop.remove_reader(self._socket)

    def resume(self) -> None:
        assert self._on_arrival is not None
        self._loop.add_reader(self._socket, self._on_arrival)

    def close(self) -> None:
        self.pause()
        self._socket.close()
        if self._tls is not None:
            self._tls.close()


class Sockets:
    __slots__ = ("_tls",)

    def __init__(self) -> None:
        # By the name under which certificates were told.
        self._tls: dict[str, TlsSide] = {}

    def certificates(
        self, settings: SslSettings, replacing: Certificates | None = None
    ) -> Certificates:
        # Only who needs it loads it.
        from klamm.server.world.tls.context import TlsContexts

        assert replacing is None or isinstance(replacing, TlsContexts)
        return TlsContexts(settings, replacing)

    def secure(self, name: str, certificates: Certificates) -> None:
        from klamm.server.world.tls.context import TlsContexts
        from klamm.server.world.tls.listening import TlsSide

        assert isinstance(certificates, TlsContexts)
        self._tls.setdefault(name, TlsSide()).contexts = certificates

    def bind(self, host: str, port: int, tls: str | None = None) -> SocketPort:
        family = socket.AF_INET6 if ":" in host or not host else socket.AF_INET
        infos = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        info = next((i for i in infos if i[0] == family), infos[0])
        listening = socket.socket(info[0], socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # What is accepted later inherits these.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            listening.setsockopt(socket.IPPROTO_TCP, _KEEP_IDLE, _PROBE_AFTER_SECONDS)
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if info[0] == socket.AF_INET6 and not host:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            listening.bind(info[4])
        except BaseException:
            listening.close()
            raise
        return SocketPort(listening, None if tls is None else self._tls[tls])

    def get(self, url: str, seconds: float) -> bytes:
        # Loaded here: few nodes ever need it.
        from http.client import HTTPException
        from urllib.request import urlopen

        try:
            with urlopen(url, timeout=seconds) as answer:
                return bytes(answer.read(_LONGEST_DOCUMENT))
        except HTTPException as e:
            raise OSError(f"it does not speak HTTP: {type(e).__name__}") from e

    async def connect(
        self, host: str, port: int, protocol: asyncio.BufferedProtocol, tls: str | None = None
    ) -> None:
        """The loop switches Nagle's delay off by itself."""
        secure = None if tls is None else self._tls[tls].connecting(host, protocol)
        transport, _ = await asyncio.get_running_loop().create_connection(
            lambda: secure or protocol, host, port
        )
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if secure is not None:
            await secure.wait()
