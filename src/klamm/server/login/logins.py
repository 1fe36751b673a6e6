"""Logins: which mechanisms a listener offers, and what each of them checks. Read once, when the listener opens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

from klamm.base.clock import Ms
from klamm.base.settings.broker import Settings
from klamm.metadata.image import ClusterImage
from klamm.security.sasl.exchange import SaslServer
from klamm.server.login.login import Login
from klamm.server.login.mechanisms import OFFERED, Offer
from klamm.server.login.strangers import Strangers
from klamm.server.world.ports import World

if TYPE_CHECKING:
    from klamm.server.network.connection import Dispatch

T = TypeVar("T")

# Deviation: Kafka's default is eight times as much. Whoever has longer tokens sets it.
_MAX_BYTES = 64 * 1024
# Checks of passwords that are under way in threads. There are a few threads more: others need them, too.
_SLOW_CHECKS = 4
_MAX_RECEIVE = "sasl.server.max.receive.size"


class Logins:
    """ValueError: the settings of the listener cannot be served; it says why in a sentence."""

    def __init__(
        self, world: World, settings: Settings, listener: str, image: Callable[[], ClusterImage]
    ) -> None:
        self._world = world
        self._tasks: set[asyncio.Task[None]] = set()
        self._slow_checks = asyncio.Semaphore(_SLOW_CHECKS)
        self.strangers = Strangers()
        self._closings: list[Callable[[], Awaitable[None]]] = []
        is_set = _MAX_RECEIVE in settings.static
        self.max_bytes = cast(int, settings.value(_MAX_RECEIVE)) if is_set else _MAX_BYTES
        self.failure_delay_seconds = (
            cast(int, settings.value("connection.failed.authentication.delay.ms")) / 1000
        )
        self._max_session_ms = cast(Ms, settings.of_listener(listener, "connections.max.reauth.ms"))
        names = cast(tuple[str, ...], settings.of_listener(listener, "sasl.enabled.mechanisms"))
        self._begin: dict[str, Callable[[], SaslServer]] = {}
        for name in names:
            if name not in OFFERED:
                raise ValueError(
                    f"listener {listener} offers {name} in sasl.enabled.mechanisms; "
                    f"klamm knows {', '.join(OFFERED)}"
                )
            offer = Offer(world, settings, listener, name, image, self._closings.append)
            self._begin[name] = OFFERED[name](offer)
        self.mechanisms = tuple(self._begin)

    async def close(self) -> None:
        for closing in self._closings:
            await closing()

    def login(self, behind: Dispatch, now: float) -> Login:
        return Login(self, behind, now)

    def begin_exchange(self, mechanism: str) -> SaslServer:
        return self._begin[mechanism]()

    def lifetime(self, expires_at: Ms | None) -> Ms | None:
        """How long a session that begins now may last. None: for ever."""
        ends = [self._max_session_ms] if self._max_session_ms > 0 else []
        if expires_at is not None:
            ends.append(max(0, expires_at - self._world.clock.wall()))
        return min(ends, default=None)

    async def in_a_thread(self, work: Callable[[], T]) -> T:
        async with self._slow_checks:
            return await self._world.workers.run(work)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
