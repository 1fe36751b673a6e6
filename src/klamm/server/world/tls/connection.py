"""TlsConnection: a transport for the protocol above it, a protocol for the transport below it, OpenSSL in between.

OpenSSL works in memory only, so nothing here waits for a socket. What is read lands in one buffer that all connections
share and is decrypted right into the buffer of the protocol above; what is sent is encrypted in large pieces and goes past
the transport to the socket, as plain answers do. The protocol above hears of the connection when the handshake is done.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, cast

from klamm.log.disk import File, RealFile
from klamm.server.world.ports import Buffer, HandshakeFailed
from klamm.server.world.tls.failures import reason_of
from klamm.server.world.tls.handshakes import Handshakes

# Ciphertext of one read, over all connections: what is read is given to OpenSSL at once.
_RECEIVED = memoryview(bytearray(256 * 1024))
# A record with all that stands around it: a smaller read could not complete one.
_RECORD_BYTES = 17 * 1024
# OpenSSL keeps as much memory as it was ever given at once, for each connection and in each direction.
_PIECE_BYTES = 64 * 1024
# Record bytes of files on their way through.
_FILE_PIECE = memoryview(bytearray(_PIECE_BYTES))


class TlsConnection(asyncio.Transport, asyncio.BufferedProtocol):
    """It is its own wire (ports.Wire), too. `send_now`: the socket's own, where one may go past the transport."""

    __slots__ = (
        "_above",
        "_below",
        "_context",
        "_handshakes",
        "_has_ended",
        "_incoming",
        "_is_choked",
        "_is_closing",
        "_is_paused",
        "_is_queued",
        "_is_secured",
        "_outgoing",
        "_reason",
        "_send_now",
        "_server_name",
        "_tls",
        "host",
        "secured",
    )

    def __init__(
        self,
        context: Callable[[], ssl.SSLContext],
        handshakes: Handshakes,
        *,
        host: str,
        send_now: Callable[[Buffer], int] | None = None,
        server_name: str | None = None,
    ) -> None:
        """`server_name`: of the one that we connect to; None where a client has connected to us."""
        self._above: asyncio.BufferedProtocol
        self._below: asyncio.Transport
        self._context = context
        self._handshakes = handshakes
        self.host = host
        self._send_now = send_now
        self._server_name = server_name
        # Made when the first bytes come: many connect and say nothing.
        self._tls: ssl.SSLObject | None = None
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._is_secured = self._is_paused = self._is_choked = self._is_closing = False
        self._has_ended = self._is_queued = False
        self._reason: HandshakeFailed | None = None
        # For who waits until it can speak.
        self.secured: asyncio.Future[None] | None = None

    def attach(self, protocol: asyncio.BufferedProtocol) -> TlsConnection:
        self._above = protocol
        return self

    # -- what the transport below calls -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._below = cast(asyncio.Transport, transport)
        self._below.set_write_buffer_limits(high=0)
        self._handshakes.begin(self)
        if self._server_name is not None:
            self.shake_hands()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closing = True
        if not self._is_secured:
            self._handshakes.end(self)
            exc = self._reason or (HandshakeFailed(str(exc)) if exc is not None else None)
            if self.secured is not None and not self.secured.done():
                self.secured.set_exception(exc or HandshakeFailed("it closed the connection"))
        self._above.connection_lost(exc)
        # They know each other; nobody need look for the ring.
        del self._above

    def get_buffer(self, sizehint: int) -> memoryview:
        if not self._is_secured:
            return _RECEIVED[:_RECORD_BYTES]
        # About what the one above takes at once, so that little is left over when it takes no more.
        room = len(cast(memoryview, self._above.get_buffer(sizehint)))
        return _RECEIVED if room >= len(_RECEIVED) else _RECEIVED[: max(room, _RECORD_BYTES)]

    def buffer_updated(self, nbytes: int) -> None:
        if not self._is_secured:
            self._incoming.write(_RECEIVED[:nbytes])
            # Until it is its turn: a stranger must not send more than is looked at.
            self._is_queued = True
            self._below.pause_reading()
            self._handshakes.step_soon(self)
            return
        at = 0
        while at < nbytes:
            end = min(nbytes, at + _PIECE_BYTES)
            self._incoming.write(_RECEIVED[at:end])
            at = end
            if not self._is_paused:
                self._deliver()

    def eof_received(self) -> bool:
        if self._is_secured:
            return bool(self._above.eof_received())
        if self._incoming.pending:
            # Its last words say why.
            self.shake_hands()
        if self._tls is not None and self._reason is None:
            self._reason = HandshakeFailed("it closed the connection in the middle of it")
        return False

    def pause_writing(self) -> None:
        self._is_choked = True
        if self._is_secured:
            self._above.pause_writing()

    def resume_writing(self) -> None:
        self._is_choked = False
        if self._is_secured:
            self._above.resume_writing()

    # -- the handshake ----------------------------------------------------------------------------------------------

    def shake_hands(self) -> None:
        """As far as it goes with what has come."""
        if self._is_closing or self._is_secured:
            return
        if self._is_queued:
            self._is_queued = False
            self._below.resume_reading()
        try:
            tls = self._tls
            if tls is None:
                name = self._server_name
                tls = self._tls = self._context().wrap_bio(
                    self._incoming,
                    self._outgoing,
                    server_side=name is None,
                    server_hostname=name,
                )
            tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
        except (ssl.SSLError, ValueError) as e:
            self.fail(reason_of(e))
        else:
            self._handshakes.end(self)
            self._flush()
            self._secured()

    def _secured(self) -> None:
        self._is_secured = True
        self._above.connection_made(self)
        if self.secured is not None and not self.secured.done():
            self.secured.set_result(None)
        if self._is_choked:
            self._above.pause_writing()
        if self._incoming.pending and not self._is_paused:
            self._deliver()

    def fail(self, why: str) -> None:
        """Tell the other side what OpenSSL has to say to it, and close."""
        if self._is_closing:
            return
        self._reason = HandshakeFailed(why)
        self._is_closing = True
        self._flush()
        self._below.close()

    # -- reading ----------------------------------------------------------------------------------------------------

    def _deliver(self) -> None:
        """Decrypt what is there, straight into the buffers of the one above, until it takes no more."""
        above = self._above
        is_over = False
        while not (is_over or self._is_paused or self._is_closing):
            try:
                size, is_over = self._decrypt_into(cast(memoryview, above.get_buffer(-1)))
            except ssl.SSLError:
                self.abort()
                return
            if size:
                above.buffer_updated(size)
            elif self._has_ended:
                self._ended()
        if self._outgoing.pending and not self._is_closing:
            self._flush()

    def _decrypt_into(self, buffer: memoryview) -> tuple[int, bool]:
        """How much, and whether that was all. OpenSSL reads a record at a time; the one above hears of all at once."""
        tls, incoming = self._tls, self._incoming
        assert tls is not None
        room, filled = len(buffer), 0
        while filled < room:
            rest = buffer[filled:] if filled else buffer
            try:
                size = cast(int, tls.read(room - filled, cast(bytearray, rest)))
            except ssl.SSLWantReadError:
                return filled, True
            if not size:
                self._has_ended = True
                # Who has heard of the last bytes hears of the end in the next round.
                return filled, not filled
            filled += size
            if not (incoming.pending or tls.pending()):
                return filled, True
        return filled, False

    def _ended(self) -> None:
        """The other side has said that it sends no more."""
        if not self._is_closing and not self._above.eof_received():
            self.close()

    def _go_on(self) -> None:
        if not self._is_paused and not self._is_closing:
            self._deliver()

    # -- what the protocol above calls ------------------------------------------------------------------------------

    def pause_reading(self) -> None:
        self._is_paused = True
        if not self._is_closing:
            self._below.pause_reading()

    def resume_reading(self) -> None:
        self._is_paused = False
        if self._is_closing:
            return
        self._below.resume_reading()
        assert self._tls is not None
        if self._incoming.pending or self._tls.pending():
            asyncio.get_running_loop().call_soon(self._go_on)

    def write(self, data: Buffer) -> None:
        self._encrypt(data)
        self._flush()

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        parts = list(list_of_data)
        # A record for each small part would cost both sides more than a copy does.
        if sum(map(len, parts)) <= _PIECE_BYTES:
            parts = [b"".join(parts)]
        for part in parts:
            self._encrypt(part)
        self._flush()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "peer_certificate":
            return self._tls.getpeercert(binary_form=True) if self._tls is not None else default
        if name == "ssl_object":
            return self._tls
        return self._below.get_extra_info(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._below.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size()

    def is_closing(self) -> bool:
        return self._is_closing or self._below.is_closing()

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        assert self._tls is not None
        with suppress(ssl.SSLError):
            # It says goodbye, and would wait for the other side to do so.
            self._tls.unwrap()
        self._flush()
        self._below.close()

    def abort(self) -> None:
        self._is_closing = True
        self._below.abort()

    # -- the wire ---------------------------------------------------------------------------------------------------

    def send(self, data: Buffer) -> int:
        """All of it: what the socket does not take now, the transport below does."""
        if self._is_choked or self._send_now is None:
            raise BlockingIOError
        if len(data) > _PIECE_BYTES:
            data = memoryview(data)[:_PIECE_BYTES]
        assert self._tls is not None
        self._tls.write(data)
        encrypted = self._outgoing.read()
        try:
            sent = self._send_now(encrypted)
        except BlockingIOError:
            sent = 0
        if sent < len(encrypted):
            self._below.write(memoryview(encrypted)[sent:])
        return len(data)

    def send_more(self, data: Buffer) -> int:
        """It leaves with what follows at once."""
        if self._is_choked:
            raise BlockingIOError
        self._encrypt(data)
        return len(data)

    def send_file(self, file: File, position: int, size: int) -> int | None:
        if self._is_choked:
            raise BlockingIOError
        if not isinstance(file, RealFile):
            return None
        piece = _FILE_PIECE if size >= _PIECE_BYTES else _FILE_PIECE[:size]
        read = os.preadv(file.fileno(), [piece], position)
        return self.send(piece[:read]) if read else 0

    def _encrypt(self, data: Buffer) -> None:
        tls = self._tls
        assert tls is not None
        if self._is_closing:
            return
        if len(data) <= _PIECE_BYTES:
            if data:
                tls.write(data)
            return
        view = memoryview(data)
        for at in range(0, len(view), _PIECE_BYTES):
            tls.write(view[at : at + _PIECE_BYTES])
            self._flush()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._below.write(self._outgoing.read())
