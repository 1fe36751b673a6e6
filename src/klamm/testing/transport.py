"""The two ends of a simulated connection, and the bytes between them.

Like TCP: bytes arrive in order, in any pieces, after some time, and only as many are on their way as the reader has room
for. An end may be closed (the rest is sent first), aborted, or be gone without a word.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from klamm.log.disk import File
from klamm.server.world.ports import Buffer

if TYPE_CHECKING:
    from klamm.testing.loop import Incarnation
    from klamm.testing.network import Host, Network

# Who sends to an end that is gone, and hears nothing, gives up after this.
_GIVE_UP_SECONDS = 60.0
_LOOK_SECONDS = 1.0
# Without a word a connection is probed, in the end.
_KEEPALIVE_SECONDS = 600.0
_FIN = b"FIN"
_RST = b"RST"


class End(asyncio.Transport):
    """One end: a transport for its protocol, and the way out to the other end."""

    def __init__(self, network: Network, host: Host, owner: Incarnation, number: int) -> None:
        super().__init__()
        self._network = network
        self._loop = network.loop
        self.host = host
        self.owner = owner
        self.number = number
        self.other: End
        self.protocol: asyncio.BaseProtocol | None = None
        self._is_buffered = False
        # On their way from here to the other end: chunks, when each arrives, and how many bytes the other has not read.
        self._chunks: deque[tuple[bytes, float]] = deque()
        self._unread = 0
        self._last_arrival = 0.0
        self._is_pumping = False
        # What the network did not take yet.
        self._buffer = bytearray()
        self._high = 64 * 1024
        self._low = 16 * 1024
        self._is_choked = False
        self._is_reading = True
        self._is_closing = False
        self._is_over = False
        self._suspects = False

    def attach(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol
        self._is_buffered = isinstance(protocol, asyncio.BufferedProtocol)
        protocol.connection_made(self)
        # What came before anybody was there to read it.
        self.other.pump_soon()

    # What a protocol calls ---------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "peername":
            return (self.other.host.name, 40_000 + self.number % 20_000)
        return (self.host.name, 9092) if name == "sockname" else default

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self.other.pump_soon()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = 64 * 1024 if high is None else high
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def write(self, data: Buffer) -> None:
        if self._is_closing or self._is_over:
            return
        if not self._buffer:
            sent = self.push(data)
            data = memoryview(data)[sent:]
        if data:
            self._buffer += data
            if len(self._buffer) > self._high and not self._is_choked:
                self._is_choked = True
                assert isinstance(self.protocol, asyncio.BaseProtocol)
                self.protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        """What is written is sent first."""
        if not self._is_closing:
            self._is_closing = True
            self._is_reading = False
            if not self._buffer:
                self._end(_FIN, None)

    def abort(self) -> None:
        self._is_closing = True
        self._buffer.clear()
        self._end(_RST, None)

    # The way out -------------------------------------------------------------------------------

    def push(self, data: Buffer) -> int:
        """How much of it the network takes now."""
        if self._is_over:
            raise ConnectionResetError("the connection is over")
        if self.other.owner.is_dead:
            self._suspect(_GIVE_UP_SECONDS)
        network = self._network
        room = min(network.window - self._unread, len(data))
        if room <= 0:
            return 0
        data = bytes(memoryview(data)[:room])
        self._unread += room
        at = 0
        for size in network.pieces(room):
            self._put(data[at : at + size])
            at += size
        return room

    def _put(self, chunk: bytes) -> None:
        arrival = self._loop.time() + self._network.delay(self.host, self.other.host)
        self._last_arrival = arrival = max(arrival, self._last_arrival + 1e-7)
        self._chunks.append((chunk, arrival))
        self.pump_soon()

    def pump_soon(self) -> None:
        if self._chunks and not self._is_pumping:
            self._is_pumping = True
            when = max(self._loop.time(), self._chunks[0][1])
            self._loop.call_at(when, self._pump, context=self.other.owner.context)

    def _pump(self) -> None:
        """At the other end: the next chunk has arrived."""
        self._is_pumping = False
        other = self.other
        if not self._chunks:
            return
        if other._is_over and not self._network.is_cut(self.host, other.host):
            self._chunks.clear()
            if not self._is_over:
                # There is nobody to read it any more; the sender is told behind all that is on its way to it.
                other._put(_RST)
            return
        if self._network.is_cut(self.host, other.host):
            self._network.stall(self)
            return
        chunk, _ = self._chunks[0]
        if chunk is _FIN or chunk is _RST:
            if other.protocol is not None:
                self._chunks.popleft()
                self._network.note("ends", self, chunk)
                other._ended(chunk is _FIN)
            return
        if other.protocol is None or not other._is_reading:
            # Closing, or busy: who does not read any more is told by nobody, who does asks for it.
            if other._is_closing:
                self._chunks.popleft()
                self._unread -= len(chunk)
                self.pump_soon()
            return
        self._chunks.popleft()
        self._network.note("delivers", self, chunk)
        taken = other._take(chunk)
        self._unread -= taken
        if taken < len(chunk):
            self._chunks.appendleft((chunk[taken:], 0.0))
        self._loop.call_later(self._network.latency / 2, self._drain, context=self.owner.context)
        if other._is_reading:
            self.pump_soon()

    def _drain(self) -> None:
        """The other end has read something."""
        if self._buffer and not self._is_over:
            sent = self.push(self._buffer)
            del self._buffer[:sent]
            if self._is_choked and len(self._buffer) <= self._low and not self._is_closing:
                self._is_choked = False
                assert self.protocol is not None
                self.protocol.resume_writing()
            if self._is_closing and not self._buffer:
                self._end(_FIN, None)

    # The end -----------------------------------------------------------------------------------

    def _end(self, how: bytes, error: Exception | None) -> None:
        if self._is_over:
            return
        if not self.other.owner.is_dead:
            self._put(how)
        self._lose(error)

    def _ended(self, is_orderly: bool) -> None:
        """The other end closed or aborted."""
        if not is_orderly:
            self.lose(ConnectionResetError("reset by peer"))
            return
        protocol = self.protocol
        assert isinstance(protocol, asyncio.Protocol | asyncio.BufferedProtocol)
        if not protocol.eof_received():
            self.close()

    def lose(self, error: Exception) -> None:
        """It is over for this end, whatever the other thinks."""
        self._buffer.clear()
        self._is_closing = True
        self._lose(error)

    def _lose(self, error: Exception | None) -> None:
        if not self._is_over:
            self._is_over = True
            self._network.forget(self)
            if self.protocol is not None:
                self._loop.call_soon(
                    self.protocol.connection_lost, error, context=self.owner.context
                )

    def other_is_gone(self) -> None:
        """Without a word: nothing tells this end but its own trying."""
        self._suspect(_GIVE_UP_SECONDS if self._buffer or self._chunks else _KEEPALIVE_SECONDS)

    def _suspect(self, seconds: float) -> None:
        if not self._suspects or seconds < _KEEPALIVE_SECONDS:
            self._suspects = True
            end = self._loop.time() + seconds
            self._loop.call_later(_LOOK_SECONDS, self._look, end, context=self.owner.context)

    def _look(self, end: float) -> None:
        if self._is_over:
            return
        is_up = self.other.host.is_up and not self._network.is_cut(self.host, self.other.host)
        if is_up and end - self._loop.time() <= _GIVE_UP_SECONDS:
            self.lose(ConnectionResetError("nobody there knows this connection"))
        elif self._loop.time() >= end:
            self.lose(TimeoutError("no answer"))
        else:
            self._loop.call_later(_LOOK_SECONDS, self._look, end, context=self.owner.context)

    # The way in --------------------------------------------------------------------------------

    def _take(self, chunk: bytes) -> int:
        """Hand it to the protocol; returns how much, which is less where it stops reading in between."""
        protocol = self.protocol
        if not self._is_buffered:
            assert isinstance(protocol, asyncio.Protocol)
            protocol.data_received(chunk)
            return len(chunk)
        assert isinstance(protocol, asyncio.BufferedProtocol)
        at = 0
        while at < len(chunk) and self._is_reading and not self._is_closing:
            room = memoryview(protocol.get_buffer(-1))
            size = min(len(room), len(chunk) - at)
            room[:size] = chunk[at : at + size]
            at += size
            protocol.buffer_updated(size)
        return len(chunk) if self._is_closing else at


class EndWire:
    """Past the transport: see server.world.ports.Wire."""

    __slots__ = ("_end", "send")

    def __init__(self, end: End) -> None:
        self._end = end
        self.send: Callable[[Buffer], int] = self._send

    def _send(self, data: Buffer) -> int:
        assert not self._end.get_write_buffer_size(), "the transport has something to send itself"
        sent = self._end.push(data)
        if not sent:
            raise BlockingIOError
        return sent

    def send_more(self, data: Buffer) -> int:
        return self._send(data)

    def send_file(self, file: File, position: int, size: int) -> int | None:
        data = file.pread(size, position)
        return self._send(data) if data else 0


class Arrived:
    """See server.world.ports.Arrival."""

    __slots__ = ("_end", "host", "wire")

    def __init__(self, end: End) -> None:
        self._end = end
        self.host = end.other.host.name
        self.wire = EndWire(end)

    async def adopt(self, protocol: asyncio.BufferedProtocol) -> None:
        self._end.attach(protocol)

    def close(self) -> None:
        self._end.abort()
