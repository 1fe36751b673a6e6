"""From a frame to its answer: header, API, decode, handle, encode.

Here a bug becomes an answer, and in the two produces, which must answer for what they have appended before it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from struct import Struct, error
from types import CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any, Self

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.protocol.wire import OBJECT_ROOM, skip_tags
from klamm.server.api_table import Route, ServedApi
from klamm.server.authorization.audited_call import AuditedCall
from klamm.server.authorization.rights import CLUSTER_ACTION
from klamm.server.authorization.rules import ADMINISTRATIVE
from klamm.server.call import Call, Later
from klamm.server.handlers.api_versions import unsupported_version
from klamm.server.network.connection import Connection
from klamm.server.network.outgoing import Answer
from klamm.server.network.pending import PARKED, Parked
from klamm.server.quota.client_quota_manager import ClientQuotaManager
from klamm.server.quota.request_quota import RequestQuota
from klamm.server.straight.commit import StraightCommit
from klamm.server.straight.fetch import StraightFetch
from klamm.server.straight.heartbeat import StraightHeartbeat
from klamm.server.straight.list_offsets import StraightListOffsets
from klamm.server.straight.produce import StraightProduce

if TYPE_CHECKING:
    from klamm.server.broker import Broker
    from klamm.server.controller_context import ControllerContext

log = logging.getLogger(__name__)

_HEADER = Struct(">hhih")
_unpack_header = _HEADER.unpack_from
_PRODUCE = 0
_FETCH = 1
_LIST_OFFSETS = 2
_OFFSET_COMMIT = 8
_HEARTBEAT = 12
_API_VERSIONS = 18
_SASL_AUTHENTICATE = 36


Straight = (
    StraightProduce | StraightFetch | StraightListOffsets | StraightHeartbeat | StraightCommit
)


class Dispatcher:
    """What a listener's connections do with their frames."""

    def __init__(self, context: Broker | ControllerContext) -> None:
        self._context = context
        self._apis: Mapping[int, ServedApi] = context.apis
        self._tasks = context.tasks
        self._heavy = context.heavy
        self._audit = context.audit
        self._straight: dict[int, Straight] = {}
        # While clients have any.
        self._quotas: ClientQuotaManager | None = None

    @classmethod
    def of_broker(cls, broker: Broker) -> Self:
        """With the short ways of what clients ask a broker all the time."""
        dispatcher = cls(broker)
        straight: dict[int, Straight] = {
            _PRODUCE: StraightProduce(broker),
            _FETCH: StraightFetch(broker),
            _LIST_OFFSETS: StraightListOffsets(broker),
            _OFFSET_COMMIT: StraightCommit(broker),
            _HEARTBEAT: StraightHeartbeat(broker),
        }

        def follow(has_quotas: bool) -> None:
            """The short ways charge nobody."""
            dispatcher._quotas = broker.quotas if has_quotas else None
            dispatcher._straight = {} if has_quotas else straight

        broker.quotas.watch(follow)
        return dispatcher

    def dispatch(self, connection: Connection, frame: memoryview) -> Answer | Parked | None:
        try:
            key, version, correlation_id, client_size = _unpack_header(frame)
        except error:
            raise CorruptFrame(f"{len(frame)} bytes cannot hold a request header") from None
        straight = self._straight.get(key)
        if straight is not None:
            answer = straight.answer(connection, frame, version, correlation_id, client_size)
            if answer is not None:
                return answer
        api = self._apis.get(key)
        if api is None:
            raise CorruptFrame(
                f"api key {key} is not served on listener {connection.listener.name}"
            )
        route = api.routes.get(version) or api.route(version)
        if route is None:
            return self._unsupported_version(connection, api, version, correlation_id)
        call = self._call(connection, api, route, version, correlation_id)
        call.client_id, body_at = read_client_id(frame, client_size, route.has_flexible_header)
        if self._quotas is not None and not api.needs_cluster_action and _is_somebody(connection):
            call.quota = RequestQuota(self._quotas, len(frame), self._context.world.turns.time)
        return self._answer(call, frame, body_at)

    def _call(
        self,
        connection: Connection,
        api: ServedApi,
        route: Route,
        version: int,
        correlation_id: int,
    ) -> Call:
        if self._audit is None or api.name not in ADMINISTRATIVE:
            return Call(self._context, connection, api, route, version, correlation_id)
        call = AuditedCall(self._context, connection, api, route, version, correlation_id)
        call.audit = self._audit
        return call

    def _answer(self, call: Call, frame: memoryview, body_at: int) -> Answer | Parked | None:
        route = call.route
        if route.keeps_request:
            # The frame lies in the shared buffer, which the next read overwrites while the handler waits.
            frame = memoryview(bytes(frame))
        request, _ = route.decode(frame, body_at)
        if isinstance(call, AuditedCall):
            call.request = request
        try:
            if call.api.needs_cluster_action:
                call.require(CLUSTER_ACTION)
            reply = route.handle(request, call)
            # The classes themselves: to ask the abstract ones costs several times as much, on every request.
            if isinstance(reply, GeneratorType):
                reply = self._heavy.begin(reply)
        except CorruptFrame:
            raise
        except Exception as e:  # noqa: BLE001 - the one place where a bug is turned into an answer
            reply = self._failed(call, request, e)
        if call.quota is not None:
            call.quota.handled()
            if reply is None:
                call.quota.settle(call, None)
        if reply is None or isinstance(reply, Parked):
            return reply
        if isinstance(reply, CoroutineType):
            call.connection.hold(_cost(call.api.key, len(frame)))
            self._spawn(call, request, reply)
            return PARKED
        return call.encode(reply)

    def _spawn(self, call: Call, request: Any, reply: Later) -> None:
        task = asyncio.get_running_loop().create_task(self._finish(call, request, reply))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    async def _finish(self, call: Call, request: Any, later: Later) -> None:
        try:
            reply = await later
            if isinstance(reply, GeneratorType):
                reply = await self._heavy.finish(reply)
        except CorruptFrame as e:
            call.connection.refuse(str(e))
            return
        except Exception as e:  # noqa: BLE001 - as in _answer
            reply = self._failed(call, request, e)
        if not isinstance(reply, Parked):
            call.finish(reply)

    def _unsupported_version(
        self, connection: Connection, api: ServedApi, version: int, correlation_id: int
    ) -> Answer:
        """KIP-511: an ApiVersions request of a future version is answered in version 0, with the versions we know."""
        oldest = api.route(0) if api.key == _API_VERSIONS else None
        if oldest is None:
            raise CorruptFrame(f"{api.name} has no version {version}")
        call = Call(self._context, connection, api, oldest, 0, correlation_id)
        return call.encode(unsupported_version(call))

    def _failed(self, call: Call, request: Any, e: Exception) -> Any:
        if not isinstance(e, ApiError):
            log.exception(
                "a request failed: api=%s version=%s client=%s",
                call.api.name,
                call.version,
                call.client_id,
            )
            e = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        response = call.api.fail(request, e, call.version)
        if response is None:
            call.connection.close()
        return response


def _is_somebody(connection: Connection) -> bool:
    """A stranger has no quota, and must not use up that of the client whose id it writes into its header."""
    return connection.login is None or connection.login.is_done


def _cost(key: int, size: int) -> int:
    """What a request of this size may take in memory at most: its frame, and the objects that it was decoded to."""
    if key == _SASL_AUTHENTICATE:
        # Bytes, and no objects. Strangers send it: they must not book more than they bring.
        return 2 * size
    return size + min(64 * size, OBJECT_ROOM)


def read_client_id(frame: memoryview, size: int, is_flexible: bool) -> tuple[str | None, int]:
    """The client id keeps its old encoding, a two-byte length, in the flexible header too."""
    at = _HEADER.size
    client_id = None
    if size >= 0:
        if at + size > len(frame):
            raise CorruptFrame("the client id runs past the end of the frame")
        try:
            client_id = str(frame[at : at + size], "utf-8")
        except UnicodeDecodeError:
            raise CorruptFrame("the client id is not UTF-8") from None
        at += size
    elif size != -1:
        raise CorruptFrame(f"a client id of {size} bytes")
    if is_flexible:
        if at >= len(frame):
            raise CorruptFrame("the request header is cut off")
        if frame[at] == 0:
            return client_id, at + 1
        at, _ = skip_tags(frame, at + 1, frame[at])
    return client_id, at
