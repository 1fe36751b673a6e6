"""One side of TLS: a listener's certificates and those who come by them, or go out with them."""

from __future__ import annotations

import asyncio
import socket

from klamm.server.world.ports import HandshakeFailed
from klamm.server.world.tls.connection import TlsConnection
from klamm.server.world.tls.context import TlsContexts
from klamm.server.world.tls.handshakes import SECONDS, Handshakes


class TlsSide:
    """`contexts` may be replaced: who connects from then on gets the new ones."""

    __slots__ = ("_handshakes", "contexts")

    def __init__(self) -> None:
        self.contexts: TlsContexts
        self._handshakes = Handshakes()

    def arrived(self, client: socket.socket, host: str) -> TlsArrival:
        secure = TlsConnection(
            lambda: self.contexts.server, self._handshakes, host=host, send_now=client.send
        )
        return TlsArrival(client, host, secure)

    def connecting(self, host: str, protocol: asyncio.BufferedProtocol) -> TlsConnecting:
        secure = TlsConnecting(
            lambda: self.contexts.client, self._handshakes, host=f"to {host}", server_name=host
        )
        secure.secured = asyncio.get_running_loop().create_future()
        secure.attach(protocol)
        return secure

    def close(self) -> None:
        self._handshakes.close()


class TlsArrival:
    """See ports.Arrival. The protocol hears of its connection when the handshake is done."""

    __slots__ = ("_socket", "host", "wire")

    def __init__(self, client: socket.socket, host: str, secure: TlsConnection) -> None:
        self._socket = client
        self.host = host
        self.wire = secure

    async def adopt(self, protocol: asyncio.BufferedProtocol) -> None:
        self._socket.setblocking(False)
        secure = self.wire.attach(protocol)
        await asyncio.get_running_loop().connect_accepted_socket(lambda: secure, self._socket)

    def close(self) -> None:
        self._socket.close()


class TlsConnecting(TlsConnection):
    async def wait(self) -> None:
        """Until it can speak. HandshakeFailed: the other side is not who it should be, or does not speak TLS."""
        assert self.secured is not None
        try:
            async with asyncio.timeout(SECONDS):
                await self.secured
        except TimeoutError:
            self.abort()
            raise HandshakeFailed("the TLS handshake took too long") from None
        except asyncio.CancelledError:
            self.abort()
            raise
