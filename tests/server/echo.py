"""A listener without a broker: it answers each frame with itself, or as told, so that only the network is under test."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from klamm.base.settings.ssl import SslSettings
from klamm.log.disk import RealFile
from klamm.log.results import Slice
from klamm.security.certificate_names import CertificateNames
from klamm.server.network.connection import Connection
from klamm.server.network.limits import Limits
from klamm.server.network.listener import Listener
from klamm.server.network.long_answer import LongAnswer
from klamm.server.network.outgoing import Answer
from klamm.server.network.pending import PARKED, Parked, Pending
from klamm.server.network.shared import Shared
from klamm.server.world.sockets import Sockets
from klamm.server.world.turns import TimedTurns

# Set: the listener speaks TLS with this key store, for which it and its clients trust this file.
SECURED: ContextVar[tuple[str, str] | None] = ContextVar("SECURED", default=None)


class Pair(NamedTuple):
    """The client's end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def frame(self) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        return await self.reader.readexactly(size)

    async def rest(self) -> bytes:
        """Everything until the connection is closed, by whatever means."""
        try:
            return await asyncio.wait_for(self.reader.read(), 20)
        except ConnectionResetError:
            return b""


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


class Zeros:
    """Unread bytes; counts how many of them were asked for."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.read = 0

    def read_part(self, start: int, size: int) -> bytes:
        self.read += size
        return bytes(size)

    # In no file.
    file = None
    position = 0


def content(size: int) -> bytes:
    """So many bytes among which no mistake goes unseen."""
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def in_file(size: int) -> Slice:
    """The content in a file, behind a byte that is not part of it."""
    file = RealFile(os.memfd_create("content"))
    file.pwrite(b"!" + content(size), 0)
    return Slice(file, 1, size, 0)


class Echo:
    """`park` waits until it is released, `defer` does without stopping others, `many N`, `long N` and `file N` are answered with that many bytes."""

    def __init__(self) -> None:
        self.files: list[Slice] = []
        self.parked: list[Connection] = []
        self.pending: list[Pending] = []
        self.handled = 0
        self.long: list[Zeros] = []

    def __call__(self, connection: Connection, frame: memoryview) -> Answer | Parked | None:
        self.handled += 1
        word, _, size = bytes(frame[:32]).partition(b" ")
        if word == b"park":
            self.parked.append(connection)
            return PARKED
        if word == b"defer":
            self.pending.append(Pending())
            return self.pending[-1]
        if word == b"many":
            return (framed(bytes(int(size))),)
        if word == b"who":
            return (framed(str(connection.principal).encode()),)
        if word == b"long":
            self.long.append(Zeros(int(size)))
            return LongAnswer([int(size).to_bytes(4, "big"), self.long[-1]])
        if word == b"file":
            self.files.append(in_file(int(size)))
            return LongAnswer([(int(size) + 3).to_bytes(4, "big"), self.files[-1], b"end"])
        return (framed(bytes(frame)),)


class Served(NamedTuple):
    echo: Echo
    shared: Shared
    listener: Listener
    connect: Callable[..., Any]


def _network(settings: SslSettings | None) -> Sockets:
    network = Sockets()
    if settings is not None:
        network.secure("SSL", network.certificates(settings))
    return network


@asynccontextmanager
async def an_echo(
    *, tls: SslSettings | None = None, names: CertificateNames | None = None, **limits: Any
) -> AsyncIterator[Served]:
    """Serves an Echo within these limits, and connects to it."""
    secured, client = SECURED.get(), None
    if secured is not None:
        store, trusted = secured
        tls = SslSettings(keystore_type="PEM", keystore_location=store)
        client = ssl.create_default_context(cafile=trusted)
    ample = {
        "max_request_bytes": 1 << 20,
        "max_held_bytes": 1 << 30,
        "max_connections": 100,
        "max_connections_per_ip": 100,
        "max_connection_rate": 1000,
        "max_idle_seconds": 60.0,
        "backlog": 50,
    }
    shared = Shared(Limits(**{**ample, **limits}), TimedTurns())
    listener = Listener(
        "PLAINTEXT",
        "127.0.0.1",
        0,
        shared=shared,
        network=_network(tls),
        is_controller=False,
        tls="SSL" if tls is not None else None,
    )
    listener.names = names
    echo = Echo()
    listener.open()
    await listener.serve(echo)
    writers = []

    async def connect(limit: int = 1 << 16, tls: ssl.SSLContext | None = client) -> Pair:
        pair = await asyncio.open_connection("127.0.0.1", listener.port, limit=limit, ssl=tls)
        writers.append(pair[1])
        return Pair(*pair)

    try:
        yield Served(echo, shared, listener, connect)
    finally:
        for writer in writers:
            writer.transport.abort()
        listener.close()
        shared.close()
        for _ in range(5):
            await asyncio.sleep(0)


async def until(true: Callable[[], bool]) -> None:
    """Waits, a turn of the loop at a time, until something has come true."""
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0)
