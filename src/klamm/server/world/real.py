"""The real world."""

from __future__ import annotations

from random import SystemRandom

from klamm.base.clock import SystemClock
from klamm.log.disk import Disk, RealDisk
from klamm.server.world.machine import this_machine
from klamm.server.world.ports import World
from klamm.server.world.sockets import Sockets
from klamm.server.world.threads import Threads
from klamm.server.world.turns import TimedTurns


def real_world(disk: Disk | None = None) -> World:
    """The world as it is; tests put another disk into it."""
    return World(
        clock=SystemClock(),
        chance=SystemRandom(),
        disk=disk or RealDisk(),
        network=Sockets(),
        workers=Threads(),
        turns=TimedTurns(),
        machine=this_machine(),
    )
