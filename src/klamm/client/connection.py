"""One connection to one broker: requests go out one after the other, answers come back in the same order.

Any number of requests may be on their way. Whatever ends the connection fails all of them, at once and with the same
error; a connection that has ended stays so, and the cluster opens a new one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar, cast

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.client.environment import Address, Environment, open_tls
from klamm.client.errors import ConnectionLost, TimedOut, Unsupported, error_of
from klamm.client.security import Security
from klamm.protocol.apis import APIS, Api
from klamm.protocol.compile import decoder, encoder
from klamm.protocol.declare import schema_of
from klamm.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from klamm.protocol.messages.headers import RequestHeader, ResponseHeader
from klamm.security.sasl.exchange import LoginRefused, SaslClient
from klamm.security.sasl.log_in import log_in

T = TypeVar("T")

MAX_FRAME_BYTES = 100 * 1024 * 1024
_SIZE = 4
_SOFTWARE_NAME = "klamm"
_SOFTWARE_VERSION = "1"
OPEN = Security()
# Of the time that the broker gives a session: so it does not end under a request.
_SHARE_OF_SESSION = 0.9


class _Waiting(NamedTuple):
    correlation_id: int
    api: Api
    version: int
    answer: type[object]
    result: asyncio.Future[object]


class Connection(asyncio.Protocol):
    """`ask` is the whole use of it; `send` is its first half, for those who pipeline."""

    def __init__(
        self, address: Address, *, client_id: str, max_frame_bytes: int = MAX_FRAME_BYTES
    ) -> None:
        self.address = address
        self.features: Mapping[str, int] = {}
        self.supported_features: Mapping[str, tuple[int, int]] = {}
        self._client_id = client_id
        self._max_frame_bytes = max_frame_bytes
        self._versions: dict[int, tuple[int, int]] | None = None
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[_Waiting] = deque()
        self._next_id = 0
        self._input = bytearray()
        self._lost: ApiError | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and self._lost is None

    def version_of(self, api: Api, at_most: int | None = None) -> int:
        """The newest version that both sides speak."""
        if self._versions is None:
            return api.highest_stable
        low, high = self._versions.get(api.key, (0, -1))
        version = min(high, api.highest_stable if at_most is None else at_most)
        if version < max(low, api.lowest):
            raise Unsupported(f"{self.address} offers no version of {api.title} that we speak")
        return version

    async def ask(
        self,
        request: object,
        answer: type[T],
        *,
        timeout_ms: int,
        version: int | None = None,
        at_most: int | None = None,
    ) -> T:
        """Send, wait, decode. A broker that does not answer in time is given up: the answers behind are late, too."""
        result = self.send(request, answer, version=version, at_most=at_most)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await result
        except TimeoutError:
            error = TimedOut(f"{self.address} did not answer within {timeout_ms} ms")
            self.abort(error)
            raise error from None

    def send(
        self,
        request: object,
        answer: type[T],
        *,
        version: int | None = None,
        at_most: int | None = None,
    ) -> asyncio.Future[T]:
        api = _api_of(request)
        version = self.version_of(api, at_most) if version is None else version
        result: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        correlation_id = self._write(request, api, version)
        self._waiting.append(_Waiting(correlation_id, api, version, answer, result))
        return cast("asyncio.Future[T]", result)

    def send_unanswered(self, request: object, *, at_most: int | None = None) -> None:
        """For Produce with acks=0, the one request without an answer."""
        api = _api_of(request)
        self._write(request, api, self.version_of(api, at_most))

    def abort(self, error: ApiError) -> None:
        """End it now, and everything that waits for an answer with it."""
        if self._lost is None:
            self._lost = error
            self._fail_all(error)
            if self._transport is not None:
                self._transport.abort()

    def close(self) -> None:
        self.abort(ConnectionLost(f"the connection to {self.address} was closed"))

    async def negotiate(self, timeout_ms: int) -> None:
        """Learn what the broker speaks. One that does not know our newest question says so, in its oldest form."""
        request = ApiVersionsRequest(
            client_software_name=_SOFTWARE_NAME, client_software_version=_SOFTWARE_VERSION
        )
        version: int = APIS[18].highest_stable
        while True:
            found = await self.ask(
                request, ApiVersionsResponse, timeout_ms=timeout_ms, version=version
            )
            if found.error_code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
                break
            offered = [row.max_version for row in found.api_keys if row.api_key == 18]
            version = min(version - 1, max(offered, default=0))
        if found.error_code:
            raise error_of(found.error_code)
        self._versions = {row.api_key: (row.min_version, row.max_version) for row in found.api_keys}
        self.features = {row.name: row.max_version_level for row in found.finalized_features}
        self.supported_features = {
            row.name: (row.min_version, row.max_version) for row in found.supported_features
        }

    async def log_in(self, sasl: SaslClient, timeout_ms: int) -> None:
        async def ask(request: Any, version: int) -> Any:
            return await self.ask(
                request, _api_of(request).response, timeout_ms=timeout_ms, version=version
            )

        try:
            lifetime = await log_in(ask, sasl)
        except LoginRefused as e:
            raise ApiError(
                ErrorCode.SASL_AUTHENTICATION_FAILED, f"{self.address} refuses the login: {e}"
            ) from None
        if lifetime:
            # The next request opens another one.
            asyncio.get_running_loop().call_later(
                lifetime * _SHARE_OF_SESSION / 1000,
                self.abort,
                ConnectionLost(f"the session with {self.address} has ended"),
            )

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._lost is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._input += data
        try:
            self._take_frames()
        except (CorruptFrame, ValueError) as e:
            self.abort(ConnectionLost(f"{self.address} sent what cannot be read: {e}"))

    def connection_lost(self, exc: Exception | None) -> None:
        reason = f": {exc}" if exc else ""
        self.abort(ConnectionLost(f"the connection to {self.address} broke{reason}"))

    def _write(self, request: object, api: Api, version: int) -> int:
        if self._lost is not None or self._transport is None:
            raise self._lost or ConnectionLost(f"not connected to {self.address}")
        self._next_id = (self._next_id + 1) & 0x7FFFFFFF
        header = RequestHeader(
            request_api_key=api.key,
            request_api_version=version,
            correlation_id=self._next_id,
            client_id=self._client_id,
        )
        frame = bytearray(_SIZE)
        encoder(RequestHeader, api.request_header_version(version))(header, frame)
        encoder(type(request), version)(request, frame)
        frame[:_SIZE] = (len(frame) - _SIZE).to_bytes(_SIZE, "big")
        self._transport.write(frame)
        return self._next_id

    def _take_frames(self) -> None:
        while len(self._input) >= _SIZE:
            size = int.from_bytes(self._input[:_SIZE], "big", signed=True)
            if not 0 <= size <= self._max_frame_bytes:
                raise ValueError(f"a frame of {size} bytes")
            end = _SIZE + size
            if len(self._input) < end:
                return
            # A copy: what is decoded keeps views of its frame.
            frame = bytes(memoryview(self._input)[_SIZE:end])
            del self._input[:end]
            self._answer(frame)

    def _answer(self, frame: bytes) -> None:
        if not self._waiting:
            raise ValueError("an answer that nobody asked for")
        # It stays in line until its answer could be read: what is wrong with that ends all who wait.
        waiting = self._waiting[0]
        header_version = waiting.api.response_header_version(waiting.version)
        header, at = decoder(ResponseHeader, header_version)(frame)
        if header.correlation_id != waiting.correlation_id:
            raise ValueError(
                f"answer {header.correlation_id} came instead of {waiting.correlation_id}"
            )
        version = _version_of_answer(waiting, frame, at)
        message, _ = decoder(waiting.answer, version)(frame, at)
        self._waiting.popleft()
        if not waiting.result.done():
            waiting.result.set_result(message)

    def _fail_all(self, error: ApiError) -> None:
        while self._waiting:
            result = self._waiting.popleft().result
            if not result.done():
                result.set_exception(error)


async def connect(
    address: Address,
    environment: Environment,
    *,
    client_id: str,
    timeout_ms: int,
    security: Security = OPEN,
) -> Connection:
    """A connection that knows the broker's versions, and is known there."""
    connection = Connection(address, client_id=client_id)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            if security.has_tls:
                await open_tls(lambda: connection, address, security)
            else:
                await environment.open(lambda: connection, address)
        await connection.negotiate(timeout_ms)
        if security.has_sasl:
            await connection.log_in(security.begin_login(environment.rng), timeout_ms)
    except TimeoutError:
        connection.close()
        raise ConnectionLost(f"{address} did not accept within {timeout_ms} ms") from None
    except OSError as e:
        connection.close()
        raise ConnectionLost(f"cannot connect to {address}: {e}") from e
    except BaseException:
        connection.close()
        raise
    return connection


def _api_of(request: object) -> Api:
    key = schema_of(type(request)).api_key
    assert key is not None, f"{type(request).__name__} is no request"
    return APIS[key]


def _version_of_answer(waiting: _Waiting, frame: bytes, at: int) -> int:
    """A broker that does not know the asked version of ApiVersions says so in version 0."""
    if waiting.answer is not ApiVersionsResponse:
        return waiting.version
    code = int.from_bytes(frame[at : at + 2], "big", signed=True)
    return 0 if code == ErrorCode.UNSUPPORTED_VERSION else waiting.version
