"""RequestQuota: what one request is charged for, and how its client hears that it has to wait.

As in Kafka since 2.0: the answer goes out at once and names the time, and the connection is not read for that long.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING

from klamm.quota.entities import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE
from klamm.server.world.ports import Buffer

if TYPE_CHECKING:
    from klamm.server.call import Call
    from klamm.server.quota.client_quota_manager import ClientQuotaManager

_PRODUCE = 0
_FETCH = 1
_INT32 = Struct(">i")
# What is noted of a client's id; who has longer ones shares a quota with those that begin alike.
_LONGEST_ID = 512


class RequestQuota:
    __slots__ = ("_manager", "_request_bytes", "_seconds", "_started", "_time")

    def __init__(
        self, manager: ClientQuotaManager, request_bytes: int, time: Callable[[], float]
    ) -> None:
        self._manager = manager
        self._request_bytes = request_bytes
        self._time = time
        self._started = time()
        self._seconds = 0.0

    def handled(self) -> None:
        """The handler has done its part: what it waits for after that is not the client's time."""
        self._seconds = self._time() - self._started

    def most_fetched(self, call: Call) -> int | None:
        return self._manager.most_in_all_windows(
            CONSUMER_BYTE_RATE, call.principal.name, _id_of(call)
        )

    def settle(self, call: Call, body: object) -> None:
        """Charge for the request and its answer, which may still be changed. None: it has no answer."""
        pause_ms = self._pause_ms(call, body)
        if pause_ms <= 0:
            return
        if call.api.key == _FETCH:
            # The first thing in it.
            parts = getattr(body, "parts", None)
            if parts and isinstance(parts[0], bytearray):
                _INT32.pack_into(parts[0], 0, pause_ms)
        elif hasattr(body, "throttle_time_ms"):
            body.throttle_time_ms = pause_ms
        call.connection.mute(pause_ms / 1000)

    def _pause_ms(self, call: Call, body: object) -> int:
        manager, user, client_id = self._manager, call.principal.name, _id_of(call)
        now = call.broker.clock.monotonic()
        used = 100 * self._seconds
        pause_ms = min(
            manager.charge(REQUEST_PERCENTAGE, user, client_id, used, now), manager.longest_pause_ms
        )
        if call.api.key == _PRODUCE:
            size = self._request_bytes
            pause_ms = max(pause_ms, manager.charge(PRODUCER_BYTE_RATE, user, client_id, size, now))
        elif call.api.key == _FETCH:
            size = _size_of(body)
            pause_ms = max(pause_ms, manager.charge(CONSUMER_BYTE_RATE, user, client_id, size, now))
        return pause_ms


def _id_of(call: Call) -> str:
    return (call.client_id or "")[:_LONGEST_ID]


def _size_of(body: object) -> int:
    return sum(
        len(part) if isinstance(part, Buffer) else part.size for part in getattr(body, "parts", ())
    )
