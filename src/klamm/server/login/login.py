"""Login: nothing of a connection is handled until it has said who it is.

It stands in front of the dispatcher as long as the login takes, and then steps aside: a connection that has logged in costs
nothing more, unless its session ends one day (KIP-368).

    handshake (which mechanism) -> tokens, to and fro -> the user

A client that asks SaslHandshake in version 0 sends its tokens bare, in frames without a header.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from struct import Struct
from typing import TYPE_CHECKING

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.principal import KafkaPrincipal
from klamm.security.sasl.exchange import LoginRefused, SaslServer
from klamm.server.network.outgoing import Answer
from klamm.server.network.pending import PARKED, Parked

if TYPE_CHECKING:
    from klamm.server.login.logins import Logins
    from klamm.server.network.connection import Connection, Dispatch

_API_KEY = Struct(">h")
_SIZE = Struct(">i")
_HANDSHAKE = 17
_API_VERSIONS = 18
_AUTHENTICATE = 36
# A client that logs in again more often than this is not asked who it is each time.
_BETWEEN_LOGINS_SECONDS = 1.0
# In the log: strangers choose part of it.
_LONGEST_REASON = 300


class State(Enum):
    HANDSHAKE = auto()
    TOKENS = auto()
    BARE_TOKENS = auto()
    DONE = auto()
    FAILED = auto()


_ALLOWED = {
    State.HANDSHAKE: frozenset({_API_VERSIONS, _HANDSHAKE}),
    State.TOKENS: frozenset({_AUTHENTICATE}),
}
_NOTHING: frozenset[int] = frozenset()


class Login:
    __slots__ = (
        "_behind",
        "_deadline",
        "_exchange",
        "_logins",
        "_mechanism",
        "_principal",
        "_since",
        "state",
    )

    def __init__(self, logins: Logins, behind: Dispatch, now: float) -> None:
        """`behind` is the dispatcher of those who have logged in."""
        self._logins = logins
        self._behind = behind
        self._since = now
        self._mechanism: str | None = None
        self._exchange: SaslServer | None = None
        # Who it was at the last login.
        self._principal: KafkaPrincipal | None = None
        # When the session ends, by the listener's time.
        self._deadline: float | None = None
        self.state = State.HANDSHAKE

    @property
    def max_bytes(self) -> int:
        """The largest frame of a stranger."""
        return self._logins.max_bytes

    @property
    def is_done(self) -> bool:
        return self.state is State.DONE

    def takes_too_long(self, now: float, seconds: float) -> bool:
        return self.state is not State.DONE and now - self._since > seconds

    # -- in front of the dispatcher -----------------------------------------------------------------------------------

    def dispatch(self, connection: Connection, frame: memoryview) -> Answer | Parked | None:
        if self.state is State.BARE_TOKENS:
            return self._take_bare(connection, bytes(frame))
        if len(frame) < _API_KEY.size:
            raise CorruptFrame(f"{len(frame)} bytes cannot hold a request header")
        (key,) = _API_KEY.unpack_from(frame)
        if key not in _ALLOWED.get(self.state, _NOTHING):
            raise CorruptFrame(f"api key {key} is not served during a login")
        return self._behind(connection, frame)

    def dispatch_in_time(self, connection: Connection, frame: memoryview) -> Answer | Parked | None:
        """For a session that ends: the client logs in again before it does, or is gone."""
        assert self._deadline is not None
        is_login = len(frame) >= _API_KEY.size and _API_KEY.unpack_from(frame)[0] == _HANDSHAKE
        if connection.listener.time() > self._deadline and not is_login:
            raise CorruptFrame("its session has ended, and it did not log in again")
        return self._behind(connection, frame)

    # -- what the handlers ask ------------------------------------------------------------------------------------------

    def handshake(self, connection: Connection, mechanism: str, *, is_bare: bool) -> ErrorCode:
        """Begin an exchange, for the first time or again."""
        if self.state is State.DONE:
            if not self._begin_again(connection):
                return ErrorCode.ILLEGAL_SASL_STATE
        elif self.state is not State.HANDSHAKE:
            return ErrorCode.ILLEGAL_SASL_STATE
        if mechanism not in self._logins.mechanisms or self._mechanism not in (None, mechanism):
            self.state = State.FAILED
            return ErrorCode.UNSUPPORTED_SASL_MECHANISM
        self._mechanism = mechanism
        self._exchange = self._logins.begin_exchange(mechanism)
        self.state = State.BARE_TOKENS if is_bare else State.TOKENS
        return ErrorCode.NONE

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return self._logins.mechanisms

    async def authenticate(self, connection: Connection, token: bytes) -> tuple[bytes, Ms]:
        """One step: the answer's token, and how long the session will last, 0 for ever. ApiError: refused."""
        if self.state is not State.TOKENS:
            raise ApiError(ErrorCode.ILLEGAL_SASL_STATE)
        return await self._step(connection, token)

    def _begin_again(self, connection: Connection) -> bool:
        now = connection.listener.time()
        if now - self._since < _BETWEEN_LOGINS_SECONDS:
            return False
        self._since = now
        connection.ask_who(self)
        return True

    # -- steps ----------------------------------------------------------------------------------------------------------

    async def _step(self, connection: Connection, token: bytes) -> tuple[bytes, Ms]:
        exchange = self._exchange
        assert exchange is not None
        has_failed = True
        try:
            if exchange.is_slow:
                answer = await self._logins.in_a_thread(lambda: exchange.step(token))
            else:
                answer = exchange.step(token)
            lifetime: Ms = 0
            if exchange.is_done:
                self._check_same(exchange)
                lifetime = self._end(connection, exchange)
            has_failed = False
            return answer, lifetime
        except LoginRefused as e:
            await self._refuse(connection, e)
            raise ApiError(
                ErrorCode.SASL_AUTHENTICATION_FAILED, e.told or self._invalid()
            ) from None
        finally:
            # Also where a check of somebody's own goes wrong in a way of its own.
            if has_failed:
                self.state = State.FAILED

    def _check_same(self, exchange: SaslServer) -> None:
        before = self._principal
        if before is not None and before != exchange.principal:
            raise LoginRefused(
                f"{before} cannot become {exchange.principal}",
                f"Cannot change principals during re-authentication from {before.type}.{before.name}: "
                f"{exchange.principal.type}.{exchange.principal.name}",
            )

    def _end(self, connection: Connection, exchange: SaslServer) -> Ms:
        lifetime = self._logins.lifetime(exchange.expires_at)
        self._exchange = None
        self._principal = exchange.principal
        dispatch: Callable[[Connection, memoryview], Answer | Parked | None] = self._behind
        if lifetime is not None:
            self._deadline = connection.listener.time() + lifetime / 1000
            dispatch = self.dispatch_in_time
        try:
            connection.admit(exchange.principal, dispatch)
        except ValueError as e:
            # The principal builder knows nobody of that name.
            raise LoginRefused(str(e)) from None
        self.state = State.DONE
        self._logins.strangers.leave(connection)
        return lifetime or 0

    async def _refuse(self, connection: Connection, error: LoginRefused) -> None:
        """Who guesses passwords is to wait for each answer."""
        self.state = State.FAILED
        why = str(error)[:_LONGEST_REASON]
        connection.listener.complain(
            "refused a login",
            f"{connection.peer_host}:{connection.peer_port}",
            f"{why} mechanism={self._mechanism} listener={connection.listener.name}",
        )
        if connection.listener.audit is not None:
            connection.listener.audit.login_failed(
                listener=connection.listener.name,
                host=connection.peer_host,
                mechanism=self._mechanism or "",
                reason=why,
            )
        await asyncio.sleep(self._logins.failure_delay_seconds)

    def _invalid(self) -> str:
        act = "authentication" if self._principal is None else "re-authentication"
        return (
            f"Authentication failed during {act} due to invalid credentials "
            f"with SASL mechanism {self._mechanism}"
        )

    # -- bare tokens ------------------------------------------------------------------------------------------------------

    def _take_bare(self, connection: Connection, token: bytes) -> Parked:
        connection.hold(len(token))
        self._logins.spawn(self._answer_bare(connection, token))
        return PARKED

    async def _answer_bare(self, connection: Connection, token: bytes) -> None:
        try:
            answer, _ = await self._step(connection, token)
            connection.finish((_SIZE.pack(len(answer)) + answer,))
        except ApiError:
            connection.finish(None)
        finally:
            if self.state is State.FAILED:
                connection.close()
