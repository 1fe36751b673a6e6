"""One client connection: frames in, answers out, strictly in the order of the requests.

Like Kafka, a connection works on one request at a time: while one is parked (a fetch that waits for data) nothing more
is read from its socket, so a client can hold no more than one frame of our memory. There is no task and no future per
request; a handler answers at once or completes the parked request later through `finish`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, cast

from klamm.base.errors import CorruptFrame
from klamm.server.network.buffers import PartialFrame, ReceiveBuffers
from klamm.server.network.limits import WRITE_BUFFER_BYTES

if TYPE_CHECKING:
    from klamm.server.network.listener import Listener

log = logging.getLogger(__name__)

Buffer = bytes | bytearray | memoryview
Answer = Sequence[Buffer]

_SIZE = Struct(">i")

# Why nothing is read from a connection now; more than one reason can hold.
_WAITING = 1  # a request is parked
_CHOKED = 2  # the client does not read its answers
_CLOSING = 4


class Parked:
    """The type of PARKED: the answer comes later, through Connection.finish."""


PARKED = Parked()

# What a connection does with a frame: the answer's buffers, None for no answer (acks=0), or PARKED.
Dispatch = Callable[["Connection", memoryview], Answer | Parked | None]


class Connection(asyncio.BufferedProtocol):
    __slots__ = (
        "_blocked",
        "_buffers",
        "_dispatch",
        "_held",
        "_max_size",
        "_out",
        "_partial",
        "_transport",
        "last_active",
        "listener",
        "local_host",
        "local_port",
        "on_lost",
        "peer_host",
        "peer_port",
    )

    def __init__(self, listener: Listener, dispatch: Dispatch, buffers: ReceiveBuffers) -> None:
        self.listener = listener
        self.on_lost: Callable[[], None] | None = None
        self.last_active = 0.0
        self.peer_host = self.local_host = ""
        self.peer_port = self.local_port = 0
        self._dispatch = dispatch
        self._buffers = buffers
        self._max_size = listener.max_request_bytes
        self._partial: PartialFrame | None = None
        self._held: bytearray | None = None
        self._out: list[Buffer] = []
        self._blocked = 0
        self._transport: asyncio.Transport | None = None

    # -- what asyncio calls ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer, local = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self.peer_host, self.peer_port = (peer or ("", 0))[:2]
        self.local_host, self.local_port = (local or ("", 0))[:2]
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self.listener.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._blocked = _CLOSING
        self._held = None
        if self._partial is not None:
            self._buffers.give_back(self._partial)
            self._partial = None
        if self.on_lost is not None:
            self.on_lost()
            self.on_lost = None
        self.listener.closed(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        partial = self._partial
        return self._buffers.shared if partial is None else partial.view[partial.filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self.last_active = self.listener.time()
        partial = self._partial
        if partial is None:
            self._take(self._buffers.shared, nbytes)
        else:
            partial.filled += nbytes
            if partial.filled == partial.size:
                self._take_partial(partial)
        if self._out:
            self._write()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        """The client does not read its answers: until it does, its requests wait in the kernel."""
        self._block(_CHOKED)

    def resume_writing(self) -> None:
        self._unblock(_CHOKED)

    # -- what handlers call ---------------------------------------------------------------------------------------

    def finish(self, answer: Answer | None) -> None:
        """Complete the parked request and go on with what came after it."""
        self.on_lost = None
        if self._transport is None:
            return
        if answer is not None:
            self._out.extend(answer)
            self._write()
        self._unblock(_WAITING)

    def close(self) -> None:
        if self._transport is not None:
            self._blocked |= _CLOSING
            self._transport.close()

    @property
    def is_idle(self) -> bool:
        """Nothing of the client's is under way here: a parked request keeps a connection alive."""
        return not self._blocked & _WAITING

    # -- frames ---------------------------------------------------------------------------------------------------

    def _take(self, view: memoryview, end: int) -> None:
        """Handle the whole frames in view[:end] and keep what is left of the last one."""
        at = 0
        while end - at >= 4:
            (size,) = _SIZE.unpack_from(view, at)
            if size > self._max_size or size < 0:
                self._refuse(f"a frame of {size} bytes; {self._max_size} are allowed")
                return
            stop = at + 4 + size
            if stop > end:
                break
            self._handle(view[at + 4 : stop])
            at = stop
            if self._blocked:
                if at < end:
                    self._held = bytearray(view[at:end])
                return
        if at < end:
            left = end - at
            size = 4 + (_SIZE.unpack_from(view, at)[0] if left >= 4 else 0)
            partial = self._partial = self._buffers.take(size)
            partial.view[:left] = view[at:end]
            partial.filled = left

    def _take_partial(self, partial: PartialFrame) -> None:
        """The last byte of a partial frame has come, or of its length."""
        self._partial = None
        self._take(partial.view, partial.size)
        self._buffers.give_back(partial)

    def _handle(self, frame: memoryview) -> None:
        try:
            answer = self._dispatch(self, frame)
        except CorruptFrame as e:
            self._refuse(str(e))
            return
        if answer is None:
            return
        if isinstance(answer, Parked):
            self._block(_WAITING)
        else:
            self._out.extend(answer)

    def _refuse(self, why: str) -> None:
        log.warning(
            "closed a connection: peer=%s:%s reason=%s", self.peer_host, self.peer_port, why
        )
        self.close()

    def _write(self) -> None:
        out, self._out = self._out, []
        if self._transport is not None:
            if len(out) == 1:
                self._transport.write(out[0])
            else:
                self._transport.writelines(out)

    def _block(self, reason: int) -> None:
        if not self._blocked and self._transport is not None:
            self._transport.pause_reading()
        self._blocked |= reason

    def _unblock(self, reason: int) -> None:
        self._blocked &= ~reason
        if self._blocked or self._transport is None or self._transport.is_closing():
            return
        if self._held is None:
            self._transport.resume_reading()
        else:
            # In a turn of its own: what woke us may be another client's append that is still under way.
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        """Handle what had come behind a request that was parked."""
        held = self._held
        if held is None or self._blocked or self._transport is None:
            return
        self._held = None
        self._take(memoryview(held), len(held))
        if self._out:
            self._write()
        if not self._blocked:
            self._transport.resume_reading()
