"""One client connection: frames in, and who handles them; outgoing.py is the way back, in the order of the requests.

Like Kafka, a connection works on one request at a time: while one is parked (a fetch that waits for data) or an answer
is not yet taken by the client, requests behind it wait. Only produces that wait for followers do not stop those behind
them (pending.py). There is no task and no future per request; a handler answers
at once or completes the parked request later through `finish`.

Whatever a connection holds in memory is paid for from the budget (budget.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from struct import Struct
from sys import intern
from typing import TYPE_CHECKING, cast

from klamm.base.errors import CorruptFrame
from klamm.base.principal import ANONYMOUS, KafkaPrincipal
from klamm.security.principal_builder import AuthenticationContext
from klamm.server.network.buffers import PartialFrame
from klamm.server.network.limits import LARGE_READ, LEAST_PROGRESS, READ_AT_ONCE
from klamm.server.network.outgoing import Answer, Outgoing
from klamm.server.network.pending import Parked, Pending
from klamm.server.network.reasons import CHOKED, CLOSING, MUTED, PIPELINED, SENDING, SHORT, WAITING
from klamm.server.network.shared import Shared
from klamm.server.world.ports import Arrival

if TYPE_CHECKING:
    from klamm.security.certificate_names import CertificateNames
    from klamm.server.authorization.grants import Grants
    from klamm.server.login.login import Login
    from klamm.server.network.listener import Listener

_unpack_size = Struct(">i").unpack_from
# The first bytes of a handshake: its record type, and the first half of a version.
_TLS_HELLO = 0x1603

# What a connection does with a frame: the answer's buffers, None for no answer (acks=0), or PARKED.
Dispatch = Callable[["Connection", memoryview], Answer | Parked | None]


class Connection(Outgoing):
    __slots__ = (
        "_buffers",
        "_busy_poll",
        "_has_asked",
        "_held",
        "_max_size",
        "_muted",
        "_parked_cost",
        "_partial",
        "_streak",
        "dispatch",
        "grants",
        "last_active",
        "listener",
        "local_host",
        "local_port",
        "login",
        "on_lost",
        "peer_host",
        "peer_port",
        "principal",
    )

    def __init__(
        self,
        listener: Listener,
        dispatch: Dispatch,
        shared: Shared,
        *,
        arrival: Arrival,
    ) -> None:
        super().__init__(shared, arrival.wire, listener.time)
        self.listener = listener
        self.on_lost: Callable[[], None] | None = None
        self.principal = ANONYMOUS
        self.login: Login | None = None
        self._muted: asyncio.TimerHandle | None = None
        # What an authorizer has said of them.
        self.grants: Grants | None = None
        self.last_active = self._moved_at
        self.peer_host = intern(arrival.host)
        self.local_host = ""
        self.peer_port = self.local_port = 0
        # What is done with its frames; tests put something in between.
        self.dispatch: Dispatch = dispatch
        self._buffers = shared.buffers
        self._busy_poll = shared.busy_poll
        self._max_size = shared.limits.max_request_bytes
        self._has_asked = False
        # Frames: the one that is coming, and what came behind one that has to wait.
        self._partial: PartialFrame | None = None
        self._held: memoryview | None = None
        # What was read in large reads, one after the other.
        self._streak = 0
        # How much of what the budget has counted is for a parked request.
        self._parked_cost = 0

    # -- what asyncio calls ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        _, self.peer_port = (transport.get_extra_info("peername") or ("", 0))[:2]
        host, self.local_port = (transport.get_extra_info("sockname") or ("", 0))[:2]
        # An IPv4 client of an IPv6 socket is told the address that it knows.
        self.local_host = intern(host.removeprefix("::ffff:"))
        # No buffer of its own: as soon as the kernel takes no more we know it, and every unsent byte is counted.
        self._transport.set_write_buffer_limits(high=0)
        self.listener.opened(self)
        names = self.listener.names
        if names is not None or (self.listener.principal_builder is not None and not self.login):
            self._learn_name(names, transport)

    def _learn_name(self, names: CertificateNames | None, transport: asyncio.BaseTransport) -> None:
        has_name = False
        try:
            principal = self.principal
            if names is not None:
                principal = names.principal_of(transport.get_extra_info("peer_certificate"))
            self.principal = self._built(principal)
            has_name = True
        except ValueError as e:
            self.refuse(str(e))
        finally:
            # Whatever went wrong in a builder of somebody's own: who has no name does not stay as nobody.
            if not has_name:
                self.close()

    def _built(self, principal: KafkaPrincipal) -> KafkaPrincipal:
        """As principal.builder.class has it. ValueError: there is nobody of that name."""
        builder = self.listener.principal_builder
        if builder is None:
            return principal
        built = builder.build(AuthenticationContext(self.listener.name, self.peer_host, principal))
        # Another name makes no other login of it.
        return built._replace(is_token=principal.is_token)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is None and exc is not None:
            self.listener.complain("a TLS handshake failed", self.peer_host, str(exc))
        self._transport = None
        self._blocked = CLOSING
        self._let_go()
        if self.on_lost is not None:
            self.on_lost()
            self.on_lost = None
        self.listener.closed(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        partial = self._partial
        if partial is None:
            return self._buffers.window
        return partial.view[partial.filled : partial.filled + READ_AT_ONCE]

    def buffer_updated(self, nbytes: int) -> None:
        self.last_active = self._time()
        partial = self._partial
        if partial is not None:
            self._receive(partial, nbytes)
        elif self._blocked and self._blocked != PIPELINED:
            self._keep(self._buffers.shared, 0, nbytes)
        else:
            self._take(self._buffers.shared, nbytes)
        if self._out:
            self._write()
        if nbytes >= LARGE_READ:
            self._give_way(nbytes)
        self._busy_poll.handled()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        """The client does not read its answers: until it does, its requests wait in the kernel."""
        self._block(CHOKED)
        self._moved_at = self._time()
        self._count_unsent()
        self._progress = -self._unsent

    def resume_writing(self) -> None:
        self._budget.unread.pop(self, None)
        self._release(self._unsent)
        self._unsent = 0
        if self._long is None:
            self._unblock(CHOKED)
        else:
            self._blocked &= ~CHOKED
            self._outbox.send_soon(self._send_piece)

    # -- what handlers call ---------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    def finish(self, answer: Answer | None) -> None:
        """Complete the parked request and go on with what came after it."""
        self.on_lost = None
        if self._parked_cost:
            self._release(self._parked_cost)
            self._parked_cost = 0
        if self._transport is None or self._blocked & CLOSING:
            return
        if answer is not None:
            if isinstance(answer, tuple) and self._blocked == WAITING and not self._out:
                # As in `_take`: the only one, nothing to gather.
                self._send(answer[0])
            else:
                self._queue(answer)
                if self._out:
                    self._write()
        self._unblock(WAITING)

    def may_park(self, cost: int) -> bool:
        """Pay for a request that will wait. False when memory is short: then it must not."""
        if self._budget.is_used_up:
            return False
        self.hold(cost)
        return True

    def hold(self, cost: int) -> None:
        """Pay, until `finish`, for a request that has to wait even if memory is short."""
        self._parked_cost += cost
        self._charge(cost)

    def mute(self, seconds: float) -> None:
        """Read nothing of it for so long."""
        if self._transport is None or self._blocked & CLOSING:
            # Gone while its request was waiting; a timer would keep it in memory.
            return
        self._block(MUTED)
        if self._muted is not None:
            self._muted.cancel()
        self._muted = asyncio.get_running_loop().call_later(seconds, self._unmute)

    def _unmute(self) -> None:
        self._muted = None
        self._unblock(MUTED)

    def ask_who(self, login: Login) -> None:
        """Handle nothing but the login, in small frames, until `admit`."""
        self.login = login
        self.dispatch = login.dispatch
        self._max_size = login.max_bytes

    def admit(self, principal: KafkaPrincipal, dispatch: Dispatch) -> None:
        self.principal = self._built(principal)
        self.dispatch = dispatch
        self._max_size = self.listener.limits.max_request_bytes

    def refuse(self, why: str) -> None:
        """The client sent what makes no sense."""
        self.listener.complain("closed a connection", f"{self.peer_host}:{self.peer_port}", why)
        self.close()

    def close(self) -> None:
        """Close when what was answered is sent."""
        transport = self._transport
        if transport is not None and not self._blocked & CLOSING:
            if self._out:
                self._write()
            self._blocked |= CLOSING
            self._moved_at = self._time()
            transport.close()

    def abort(self, why: str) -> None:
        """Close now, whatever is left to send."""
        if self._transport is not None:
            self.listener.complain("closed a connection", self.peer_host, why)
            self._blocked |= CLOSING
            self._transport.abort()
            self._let_go()

    # -- what the listener and the budget ask -----------------------------------------------------------------------

    @property
    def is_short_of_memory(self) -> bool:
        return self._blocked & ~PIPELINED == SHORT

    def wait_for_memory(self) -> int | None:
        """Read no more of the frame at hand; says how much is missing. None: it is small, or not read now anyway."""
        partial = self._partial
        if partial is None or self._blocked & ~PIPELINED:
            return None
        if partial.size <= self.listener.limits.small_request_bytes:
            return None
        self._block(SHORT)
        return partial.missing

    def go_on(self) -> None:
        self._unblock(SHORT)

    def has_stopped(self, now: float, seconds: float) -> bool:
        """Whether a frame that we read, or an answer that the client should read, did not move for that long."""
        if now - self._moved_at < seconds:
            return False
        if self._blocked & CHOKED:
            assert self._transport is not None
            progress = -self._transport.get_write_buffer_size()
        elif self._partial is not None and not self._blocked & ~PIPELINED:
            progress = self._partial.filled
        else:
            return False
        if progress - self._progress < LEAST_PROGRESS:
            return True
        self._moved_at, self._progress = now, progress
        return False

    def overdue(self, now: float) -> str | None:
        """Why this connection must be closed now, if it must. What waits for us is never overdue."""
        limits = self.listener.limits
        if self._blocked & CLOSING:
            return "it closes slowly" if now - self._moved_at > limits.linger_seconds else None
        if self.login is not None and self.login.takes_too_long(now, limits.first_request_seconds):
            return "no login"
        if self.has_stopped(now, limits.frame_seconds):
            return "its answer is not read" if self._blocked else "half a request"
        if self._blocked:
            # With requests waiting behind a parked one, or a quota used up for long, we do not read, and would not notice
            # that the client is gone.
            is_blind = self._held is not None or self._blocked & MUTED
            return "it waits too long" if is_blind and self._has_idled(now) else None
        if not self._has_asked and now - self._moved_at > limits.first_request_seconds:
            has_begun = self._partial is not None and self._partial.filled >= LEAST_PROGRESS
            return None if has_begun else "no request"
        return None

    def is_idle(self, now: float) -> bool:
        """A parked request keeps a connection alive."""
        return not self._blocked and self._has_idled(now)

    def _has_idled(self, now: float) -> bool:
        allowed = self.listener.limits.max_idle_seconds
        return allowed is not None and now - self.last_active > allowed

    # -- frames ---------------------------------------------------------------------------------------------------

    def _take(self, view: memoryview, end: int) -> None:
        """Handle the whole frames in view[:end] and keep what is left of the last one."""
        at = 0
        while end - at >= 4:
            (size,) = _unpack_size(view, at)
            if size > self._max_size or size < 0:
                self._refuse_size(size)
                return
            stop = at + 4 + size
            if stop > end:
                break
            self._has_asked = True
            try:
                answer = self.dispatch(self, view[at + 4 : stop])
            except CorruptFrame as e:
                self.refuse(str(e))
                return
            at = stop
            if isinstance(answer, tuple):
                if at == end and not self._out and not self._blocked:
                    # The only one, as nearly always: nothing to gather.
                    self._send(answer[0])
                    return
                self._queue(answer)
            elif isinstance(answer, Parked):
                if isinstance(answer, Pending):
                    self._line_up(answer)
                else:
                    self._blocked |= WAITING
            elif answer is not None:
                self._queue(answer)
            if self._blocked and self._blocked != PIPELINED:
                if at < end:
                    self._keep(view, at, end)
                return
        if at < end:
            self._begin_partial(view, at, end)

    def _refuse_size(self, size: int) -> None:
        if size >> 16 == _TLS_HELLO:
            self.refuse("it speaks TLS, and this listener does not")
        else:
            self.refuse(f"a frame of {size} bytes; {self._max_size} are allowed")

    def _begin_partial(self, view: memoryview, at: int, end: int) -> None:
        left = end - at
        size = 4 + (_unpack_size(view, at)[0] if left >= 4 else 0)
        partial = self._partial = self._buffers.take(size, left)
        partial.view[:left] = view[at:end]
        partial.filled = self._progress = left
        if self._has_asked:
            self._moved_at = self.last_active
        self._budget.receiving[self] = None
        self._charge(left)
        if self._budget.is_used_up:
            self._budget.stand_in_line(self)

    def _receive(self, partial: PartialFrame, nbytes: int) -> None:
        partial.filled += nbytes
        self._charge(nbytes)
        if partial.filled == partial.size:
            # The last byte has come, of the frame or of its length.
            self._partial = None
            self._budget.leave(self)
            self._take(partial.view, partial.size)
            self._buffers.give_back(partial)
            self._release(partial.size)
            return
        if partial.filled == len(partial.view):
            partial.grow()
        if self._budget.is_used_up:
            self._budget.stand_in_line(self)

    def _give_way(self, nbytes: int) -> None:
        """Let others have a turn: the loop would read on up to 32 times as long as this client fills what it reads into."""
        self._streak += nbytes
        if self._streak < READ_AT_ONCE:
            return
        self._streak = 0
        if not self._blocked & ~PIPELINED and not self._is_paused:
            self._pause()
            asyncio.get_running_loop().call_soon(self._unblock, 0)

    def _keep(self, view: memoryview, at: int, end: int) -> None:
        """What came behind a request that has to wait; a copy if it lies where others read.

        It must be writable: batches are stamped where they lie.
        """
        if self._blocked & CLOSING:
            return
        if end - at > self._max_size and self.login is not None and not self.login.is_done:
            self.refuse("it sends more than a login before it has logged in")
            return
        assert self._held is None, "nothing is read while requests wait"
        rest = view[at:end]
        is_shared = view.obj is self._buffers.shared.obj
        self._held = memoryview(bytearray(rest)) if is_shared else rest
        self._charge(end - at)
        self._pause()

    # -- flow -----------------------------------------------------------------------------------------------------

    def _count_unsent(self) -> None:
        if self._transport is None or self._blocked & CLOSING:
            return
        before, self._unsent = self._unsent, self._transport.get_write_buffer_size()
        self._budget.unread.setdefault(self)
        self._charge(self._unsent - before)

    def _let_go(self) -> None:
        """Give back all memory; nothing will be read or sent any more."""
        if self._muted is not None:
            self._muted.cancel()
        partial, self._partial = self._partial, None
        if partial is not None:
            self._buffers.give_back(partial)
        if self._long is not None:
            self._long = None
            self._outbox.count -= 1
        self._held = None
        for each in self._pending:
            each.abandon()
        self._out, self._pending = [], []
        self._unsent = self._parked_cost = 0
        self._budget.unread.pop(self, None)
        self._budget.leave(self)
        charged, self._charged = self._charged, 0
        self._budget.give_back(charged)

    def _unblock(self, reason: int) -> None:
        self._blocked &= ~reason
        if self._pending and reason == SENDING:
            self.send_settled()
        stops = self._blocked & ~PIPELINED
        if stops or self._transport is None or self._transport.is_closing():
            return
        if self._partial is not None:
            # The time in which we did not read is not the client's.
            self._moved_at, self._progress = self._time(), self._partial.filled
        if self._held is not None:
            # In a turn of its own: what woke us may be another client's append that is still under way.
            asyncio.get_running_loop().call_soon(self._go_on)
        elif self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()

    def _go_on(self) -> None:
        """Handle what had come behind a request that had to wait."""
        held = self._held
        if held is None or self._blocked & ~PIPELINED or self._transport is None:
            return
        self._held = None
        self._release(len(held))
        self._take(held, len(held))
        if self._out:
            self._write()
        if not self._blocked & ~PIPELINED and self._held is None:
            self._unblock(0)
