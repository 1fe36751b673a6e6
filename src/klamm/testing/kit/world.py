"""The World of a broker under test: the real one, with a clock that can be moved and a port that stays free."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from random import Random

from klamm.base.clock import Clock
from klamm.log.disk import Disk
from klamm.server.world.compaction import CompactionHere, CompactionWorker
from klamm.server.world.ports import World
from klamm.server.world.real import real_world
from klamm.server.world.sockets import SocketPort, Sockets
from klamm.server.world.threads import Threads
from klamm.testing.kit.cluster.cuts import Cuts
from klamm.testing.kit.transcript.tap import TappedPort, Watch

# Below those that systems take for outgoing connections: nobody takes the port while its broker is restarted.
_PORTS = range(20_000, 32_000)
_TRIES = 200
_TAKEN = (errno.EADDRINUSE, errno.EACCES)


def free_ports(host: str, count: int) -> list[int]:
    """Ports that nobody has now, for those who must tell them to others before they take them."""
    chance = Random()
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            probe = held.enter_context(socket.socket())
            port = chance.choice(_PORTS)
            try:
                probe.bind((host, port))
            except OSError as e:
                if e.errno not in _TAKEN:
                    raise
            else:
                ports.append(port)
        return ports


class KitSockets(Sockets):
    """Sockets that are listened to."""

    __slots__ = ("_cuts", "_random", "_watch")

    def __init__(self, watch: Watch, cuts: Cuts) -> None:
        super().__init__()
        self._cuts = cuts
        self._watch = watch
        self._random = Random()

    def bind(self, host: str, port: int, tls: str | None = None) -> TappedPort:  # type: ignore[override]
        return TappedPort(self._bind(host, port, tls), self._watch)

    async def connect(
        self, host: str, port: int, protocol: asyncio.BufferedProtocol, tls: str | None = None
    ) -> None:
        await self._cuts.connect(partial(super().connect, tls=tls), host, port, protocol)

    def _bind(self, host: str, port: int, tls: str | None) -> SocketPort:
        if port:
            return super().bind(host, port, tls)
        for _ in range(_TRIES):
            try:
                return super().bind(host, self._random.choice(_PORTS), tls)
            except OSError as e:
                if e.errno not in _TAKEN:
                    raise
        return super().bind(host, 0, tls)


class KitThreads(Threads):
    """A broker that lives for a test need not start a process to compact."""

    def compaction(self, disk: Disk) -> CompactionWorker:
        return CompactionHere(disk)


def kit_world(clock: Clock, disk: Disk, watch: Watch, cuts: Cuts) -> World:
    network = KitSockets(watch, cuts)
    return replace(real_world(disk), clock=clock, network=network, workers=KitThreads())
