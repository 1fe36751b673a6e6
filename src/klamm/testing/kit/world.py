"""The World of a broker under test: the real one, with a clock that can be moved and a port that stays free."""

from __future__ import annotations

import errno
from dataclasses import replace
from random import Random

from klamm.base.clock import Clock
from klamm.log.disk import Disk
from klamm.server.world.compaction import CompactionHere, CompactionWorker
from klamm.server.world.ports import World
from klamm.server.world.real import real_world
from klamm.server.world.sockets import SocketPort, Sockets
from klamm.server.world.threads import Threads
from klamm.testing.kit.transcript.tap import TappedPort, Watch

# Below those that systems take for outgoing connections: nobody takes the port while its broker is restarted.
_PORTS = range(20_000, 32_000)
_TRIES = 200


class KitSockets(Sockets):
    """Sockets that are listened to."""

    __slots__ = ("_random", "_watch")

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._random = Random()

    def bind(self, host: str, port: int) -> TappedPort:  # type: ignore[override]
        return TappedPort(self._bind(host, port), self._watch)

    def _bind(self, host: str, port: int) -> SocketPort:
        if port:
            return super().bind(host, port)
        for _ in range(_TRIES):
            try:
                return super().bind(host, self._random.choice(_PORTS))
            except OSError as e:
                if e.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
        return super().bind(host, 0)


class KitThreads(Threads):
    """A broker that lives for a test need not start a process to compact."""

    def compaction(self, disk: Disk) -> CompactionWorker:
        return CompactionHere(disk)


def kit_world(clock: Clock, disk: Disk, watch: Watch) -> World:
    return replace(real_world(disk), clock=clock, network=KitSockets(watch), workers=KitThreads())
