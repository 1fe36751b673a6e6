"""A network that is listened to: what goes in and out of each connection, and who comes and goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, cast

from klamm.log.disk import File
from klamm.server.network.connection import Connection
from klamm.server.world.ports import Arrival, Buffer, Port, Wire


class Ear(Protocol):
    """Hears one connection."""

    def came(self, data: Buffer) -> None: ...
    def went(self, data: Buffer, unseen: int = 0) -> None:
        """`unseen` bytes went straight from a file."""

    def closed(self) -> None: ...


class Watch(Protocol):
    """Hears of connections, and listens to them if it likes."""

    def opened(self, connection: Connection) -> Ear: ...
    def asks(self, connection: Connection) -> None:
        """Something came, and is handled next."""

    def closed(self, connection: Connection) -> None: ...


class TappedPort:
    def __init__(self, port: Port, watch: Watch) -> None:
        self._port = port
        self._watch = watch
        self.host, self.number = port.host, port.number
        self.listen = port.listen
        self.pause, self.resume, self.close = port.pause, port.resume, port.close

    def accept(self) -> TappedArrival:
        return TappedArrival(self._port.accept(), self._watch)


class TappedArrival:
    def __init__(self, arrival: Arrival, watch: Watch) -> None:
        self._arrival = arrival
        self._watch = watch
        self.host = arrival.host
        self.wire = TappedWire(arrival.wire)
        self.close = arrival.close

    async def adopt(self, protocol: asyncio.BufferedProtocol) -> None:
        await self._arrival.adopt(Tap(cast(Connection, protocol), self.wire, self._watch))


class TappedWire:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._send = wire.send
        self.ear: Ear
        self.send: Callable[[Buffer], int] = self._send_heard

    def _send_heard(self, data: Buffer) -> int:
        sent = self._send(data)
        self.ear.went(memoryview(data)[:sent])
        return sent

    def send_more(self, data: Buffer) -> int:
        sent = self._wire.send_more(data)
        self.ear.went(memoryview(data)[:sent])
        return sent

    def send_file(self, file: File, position: int, size: int) -> int | None:
        sent = self._wire.send_file(file, position, size)
        if sent:
            self.ear.went(b"", sent)
        return sent


class Tap(asyncio.BufferedProtocol):
    """Stands before a connection and hands everything on."""

    def __init__(self, connection: Connection, wire: TappedWire, watch: Watch) -> None:
        self._connection = connection
        self._wire = wire
        self._watch = watch
        self._ear: Ear
        self._view = memoryview(b"")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tapped = TappedTransport(cast(asyncio.Transport, transport))
        self._connection.connection_made(cast(asyncio.Transport, tapped))
        self._ear = self._wire.ear = tapped.ear = self._watch.opened(self._connection)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.connection_lost(exc)
        self._ear.closed()
        self._watch.closed(self._connection)

    def eof_received(self) -> bool:
        return self._connection.eof_received()

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()

    def get_buffer(self, sizehint: int) -> memoryview:
        self._view = self._connection.get_buffer(sizehint)
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        self._ear.came(self._view[:nbytes])
        self._view = memoryview(b"")
        self._watch.asks(self._connection)
        self._connection.buffer_updated(nbytes)


class TappedTransport:
    """What the wire would not take goes this way."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.ear: Ear

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: Buffer) -> None:
        self.ear.went(data)
        self._transport.write(data)

    def writelines(self, parts: list[Buffer]) -> None:
        for part in parts:
            self.ear.went(part)
        self._transport.writelines(parts)
