"""PeerChannel: requests to one address, over a connection that is opened when there is something to say.

Whoever sends hears the answer, or that there is none: not connected, lost on the way, unreadable, too late. A channel tries
nothing twice; what a lost request means only its sender knows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from struct import Struct, error
from typing import Any, NamedTuple

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.protocol.apis import APIS, Api
from klamm.protocol.compile import decoder, encoder
from klamm.protocol.declare import schema_of
from klamm.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from klamm.security.sasl.exchange import LoginRefused
from klamm.server.peers.connection import PeerConnection
from klamm.server.peers.way import OPEN, Way, log_in_at
from klamm.server.world.ports import HandshakeFailed, World

log = logging.getLogger(__name__)

REQUEST_TIMEOUT_MS: Ms = 30_000
# Of the time that the other side gives a session.
_SHARE_OF_SESSION = 0.9
_HEADER = Struct(">ihhih")  # size, api key, version, correlation id, length of the client id
_CORRELATION = Struct(">i")
_API_VERSIONS = 18
# Every node that speaks KRaft knows this one.
_API_VERSIONS_VERSION = 3
_LARGEST_ID = 0x7FFFFFFF

Heard = Callable[[Any], None]
HeardFrame = Callable[[memoryview | None], None]


class PeerUnavailable(ApiError):
    """The other node did not answer; what it has done is not known."""

    def __init__(self, channel: PeerChannel) -> None:
        super().__init__(ErrorCode.NETWORK_EXCEPTION, f"{channel} does not answer.")


class _Request(NamedTuple):
    message: object
    api: Api
    # None: the newest that both sides speak.
    version: int | None
    heard: Heard
    deadline: Ms


class PeerChannel:
    def __init__(
        self, world: World, host: str, port: int, *, client_id: str, way: Way = OPEN
    ) -> None:
        self.host = host
        self.port = port
        # Hears that nobody listens there any more: that process is gone.
        self.on_refused: Callable[[], None] | None = None
        self._clock = world.clock
        self._network = world.network
        self._client_id = client_id.encode()
        self._way = way
        # A login that is refused is told of once, however often it is tried.
        self._has_complained = False
        self._retirement: asyncio.TimerHandle | None = None
        self._connection: PeerConnection | None = None
        self._versions: dict[int, tuple[int, int]] | None = None
        self._asks_versions = False
        self._opening: asyncio.Task[None] | None = None
        self._queue: list[_Request] = []
        # Of what is on its way, in the order of sending.
        self._deadlines: dict[int, Ms] = {}
        self._last_id = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: Ms = 0
        self._is_closed = False

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_open(self) -> bool:
        return self._connection is not None and self._connection.is_open

    def send(
        self,
        request: object,
        heard: Heard,
        *,
        version: int | None = None,
        timeout_ms: Ms = REQUEST_TIMEOUT_MS,
    ) -> None:
        """`heard` is called once, after this returned: with the answer, or with None. version: sent without asking."""
        key = schema_of(type(request)).api_key
        assert key is not None
        deadline = self._clock.monotonic() + timeout_ms
        self._queue.append(_Request(request, APIS[key], version, heard, deadline))
        self._watch(deadline)
        if self.is_open:
            self._send_queued()
        elif self._is_closed:
            asyncio.get_running_loop().call_soon(self._drop_queued)
        elif self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(self._open())

    def newest(self, key: int) -> int | None:
        """The newest version of an API that both sides speak; None if the connection has not told yet."""
        if self._versions is None:
            return None
        version = min(self._versions.get(key, (0, -1))[1], APIS[key].highest_stable)
        return version if version >= APIS[key].lowest else None

    def begin_frame(self) -> bytearray:
        """Of a request with tags in its header. The caller writes the body behind it, and has it sent at once."""
        frame = bytearray(_HEADER.size)
        frame += self._client_id
        frame.append(0)
        return frame

    def send_frame(
        self, key: int, version: int, frame: bytearray, heard: HeardFrame, deadline: Ms
    ) -> None:
        """For those who write and read bytes themselves, of a version that is `newest`: the connection is open."""
        assert self._connection is not None
        self._last_id = number = (self._last_id + 1) & _LARGEST_ID
        _HEADER.pack_into(frame, 0, len(frame) - 4, key, version, number, len(self._client_id))
        self._deadlines[number] = deadline
        self._watch(deadline)

        def answered(data: memoryview | None) -> None:
            self._deadlines.pop(number, None)
            if data is not None and _CORRELATION.unpack_from(data)[0] != number:
                self._abort()
                data = None
            heard(data)

        self._connection.send(frame, answered)

    async def ask(
        self, request: object, *, version: int | None = None, timeout_ms: Ms = REQUEST_TIMEOUT_MS
    ) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def heard(message: Any) -> None:
            if not answer.done():
                answer.set_result(message)

        self.send(request, heard, version=version, timeout_ms=timeout_ms)
        message = await answer
        if message is None:
            raise PeerUnavailable(self)
        return message

    def close(self) -> None:
        self._is_closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        if self._opening is not None:
            self._opening.cancel()
        if self._connection is not None:
            self._connection.abort()
        self._drop_queued()

    # Connecting

    async def _open(self) -> None:
        connection = PeerConnection(self._lost)
        try:
            await self._network.connect(self.host, self.port, connection, self._way.tls)
            await self._log_in(connection)
        except OSError as e:
            self._opening = None
            self._drop_queued()
            if isinstance(e, ConnectionRefusedError):
                self._refused()
            elif isinstance(e, HandshakeFailed):
                self._complain("there is no secure way to a node", e)
            return
        except asyncio.CancelledError:
            connection.abort()
            raise
        self._opening = None
        if not connection.is_open:
            self._drop_queued()
            return
        self._connection = connection
        self._send_queued()

    async def _log_in(self, connection: PeerConnection) -> None:
        if self._way.begin_login is None:
            return
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_MS / 1000):
                lifetime = await log_in_at(
                    connection, self._way.begin_login(), self._client_id.decode()
                )
        except (LoginRefused, CorruptFrame) as e:
            connection.abort()
            self._complain("a node refuses our login", e)
            return
        except OSError:
            connection.abort()
            raise
        self._has_complained = False
        if lifetime:
            # In good time, so that it does not end under a request that is on its way.
            self._retirement = asyncio.get_running_loop().call_later(
                lifetime * _SHARE_OF_SESSION / 1000, connection.abort
            )

    def _complain(self, what: str, why: Exception) -> None:
        if not self._has_complained:
            self._has_complained = True
            log.error("%s: address=%s reason=%s", what, self, why)

    def _lost(self) -> None:
        if self._retirement is not None:
            self._retirement.cancel()
        if self._connection is not None:
            self._connection = None
            self._versions = None
            self._asks_versions = False
            self._deadlines.clear()
            self._drop_queued()

    def _refused(self) -> None:
        if self.on_refused is not None and not self._is_closed:
            self.on_refused()

    def _drop_queued(self) -> None:
        dropped, self._queue = self._queue, []
        for each in dropped:
            each.heard(None)

    # Sending

    def _send_queued(self) -> None:
        queued, self._queue = self._queue, []
        for place, request in enumerate(queued):
            if not self.is_open:
                self._queue += queued[place:]
                self._drop_queued()
                return
            if request.version is not None:
                self._send(request, request.version)
            elif self._versions is None:
                self._queue.append(request)
                self._ask_versions()
            else:
                self._send_newest(request)

    def _send_newest(self, request: _Request) -> None:
        assert self._versions is not None
        lowest, highest = self._versions.get(request.api.key, (0, -1))
        version = min(highest, request.api.highest_stable)
        if version < max(lowest, request.api.lowest):
            asyncio.get_running_loop().call_soon(request.heard, None)
        else:
            self._send(request, version)

    def _ask_versions(self) -> None:
        if self._asks_versions:
            return
        self._asks_versions = True
        question = ApiVersionsRequest(client_software_name="klamm", client_software_version="1")
        deadline = self._clock.monotonic() + REQUEST_TIMEOUT_MS
        api = APIS[_API_VERSIONS]
        self._send(
            _Request(question, api, None, self._heard_versions, deadline), _API_VERSIONS_VERSION
        )

    def _heard_versions(self, answer: ApiVersionsResponse | None) -> None:
        if answer is None:
            return
        if answer.error_code:
            self._abort()
            return
        self._versions = {
            row.api_key: (row.min_version, row.max_version) for row in answer.api_keys
        }
        self._send_queued()

    def _send(self, request: _Request, version: int) -> None:
        assert self._connection is not None
        api, heard = request.api, request.heard
        self._last_id = number = (self._last_id + 1) & _LARGEST_ID
        frame = bytearray(_HEADER.size)
        frame += self._client_id
        if api.request_header_version(version) >= 2:
            frame.append(0)
        encoder(type(request.message), version)(request.message, frame)
        _HEADER.pack_into(frame, 0, len(frame) - 4, api.key, version, number, len(self._client_id))
        self._deadlines[number] = request.deadline
        has_tags = api.response_header_version(version) >= 1

        def answered(data: memoryview | None) -> None:
            self._deadlines.pop(number, None)
            heard(None if data is None else self._decode(api, version, number, data, has_tags))

        self._connection.send(frame, answered)

    def _decode(self, api: Api, version: int, number: int, data: memoryview, has_tags: bool) -> Any:
        try:
            if _CORRELATION.unpack_from(data)[0] != number or (has_tags and data[4]):
                raise CorruptFrame("it is the answer to something else")
            message, _ = decoder(api.response, version)(data, 5 if has_tags else 4)
        except (CorruptFrame, IndexError, error):
            self._abort()
            return None
        return message

    def _abort(self) -> None:
        if self._connection is not None:
            self._connection.abort()

    # Waiting

    def _watch(self, deadline: Ms) -> None:
        """One alarm for all: who is answered in time, as nearly everybody is, costs nothing here."""
        if self._alarm is not None and self._alarm_at <= deadline:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = deadline
        delay = max(0, deadline - self._clock.monotonic()) / 1000
        self._alarm = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now = self._clock.monotonic()
        if any(at <= now for at in self._deadlines.values()):
            # The answers behind a late one are late, too.
            self._abort()
        late = [each for each in self._queue if each.deadline <= now]
        self._queue = [each for each in self._queue if each.deadline > now]
        for each in late:
            each.heard(None)
        ahead = [*self._deadlines.values(), *(each.deadline for each in self._queue)]
        if ahead and not self._is_closed:
            self._watch(min(ahead))
