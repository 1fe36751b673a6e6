"""A network that is cut between nodes: nothing arrives, and nobody is told. Nodes reach each other by their ports."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any, cast

from klamm.server.world.ports import Buffer

Connect = Callable[[str, int, asyncio.BufferedProtocol], Awaitable[None]]


class Cuts:
    """The ports of others that this node does not reach, and its connections to all."""

    def __init__(self) -> None:
        self._ports: frozenset[int] = frozenset()
        self._cables: dict[Cable, int] = {}
        self._changed = asyncio.Event()

    def set(self, ports: Collection[int]) -> None:
        """What is on its way to one that is reached again is lost, with its connection."""
        before, self._ports = self._ports, frozenset(ports)
        for cable, port in list(self._cables.items()):
            if port in self._ports:
                cable.cut()
            elif port in before:
                cable.abort()
        self._changed.set()
        self._changed = asyncio.Event()

    async def connect(
        self, connect: Connect, host: str, port: int, protocol: asyncio.BufferedProtocol
    ) -> None:
        while port in self._ports:
            await self._changed.wait()
        cable = Cable(protocol, lambda: self._cables.pop(cable, None))
        self._cables[cable] = port
        try:
            await connect(host, port, cable)
        except BaseException:
            self._cables.pop(cable, None)
            raise
        if port in self._ports:
            cable.cut()


class Cable(asyncio.BufferedProtocol):
    """Stands before a connection to another node, and hands everything on while it is whole."""

    def __init__(self, protocol: asyncio.BufferedProtocol, on_lost: Callable[[], object]) -> None:
        self._protocol = protocol
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self.is_cut = False

    def cut(self) -> None:
        self.is_cut = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        end = CableEnd(self, self._transport)
        self._protocol.connection_made(cast(asyncio.Transport, end))

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost()
        self._protocol.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> Buffer:
        return cast(Buffer, self._protocol.get_buffer(sizehint))

    def buffer_updated(self, nbytes: int) -> None:
        self._protocol.buffer_updated(nbytes)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()


class CableEnd:
    """The transport as the node sees it: it takes whatever is written, though a cut cable carries nothing."""

    def __init__(self, cable: Cable, transport: asyncio.Transport) -> None:
        self._cable = cable
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: Buffer) -> None:
        if not self._cable.is_cut:
            self._transport.write(data)

    def writelines(self, parts: list[Buffer]) -> None:
        if not self._cable.is_cut:
            self._transport.writelines(parts)

    def resume_reading(self) -> None:
        if not self._cable.is_cut:
            self._transport.resume_reading()
