"""A connection, cut and mangled: frames in any pieces, answers of any kind, a client that reads or does not."""

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, cast

from fuzz.target import Target
from klamm.base.errors import CorruptFrame
from klamm.server.network.connection import Connection
from klamm.server.network.limits import Limits
from klamm.server.network.listener import Listener
from klamm.server.network.long_answer import LongAnswer
from klamm.server.network.outgoing import Answer
from klamm.server.network.pending import PARKED, Parked
from klamm.server.network.shared import Shared
from klamm.server.world.ports import Arrival, Buffer
from klamm.server.world.turns import TimedTurns

_MAX_REQUEST = 1_000


class _Transport:
    """Takes what is written, or keeps it when the client does not read."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.is_reading = True
        self.takes = True
        self.unsent = self.closed = 0

    def write(self, data: Any) -> None:
        self.writelines([data])

    def writelines(self, parts: list[Any]) -> None:
        assert not self.closed
        if not self.takes:
            was_empty = not self.unsent
            self.unsent += sum(map(len, parts))
            if was_empty and self.unsent:
                self.connection.pause_writing()

    def drain(self) -> None:
        self.takes = True
        if self.unsent and not self.closed:
            self.unsent = 0
            self.connection.resume_writing()

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def pause_reading(self) -> None:
        assert self.is_reading
        self.is_reading = False

    def resume_reading(self) -> None:
        assert not self.is_reading
        self.is_reading = True

    def close(self) -> None:
        self.closed = 1

    abort = close

    def is_closing(self) -> bool:
        return bool(self.closed)

    def get_extra_info(self, name: str) -> tuple[str, int]:
        return ("127.0.0.1", 1)

    def set_write_buffer_limits(self, high: int) -> None:
        assert high == 0


class _Wire:
    """Takes a part of what is sent, or nothing when the client does not read."""

    def __init__(self) -> None:
        self.takes = True

    def send(self, data: Buffer) -> int:
        if not self.takes:
            raise BlockingIOError
        return min(len(data), 700)

    send_more = send

    def send_file(self, file: object, position: int, size: int) -> None:
        return None


class _Arrival(NamedTuple):
    wire: _Wire
    host: str = "127.0.0.1"


class _Zeros:
    """Bytes that lie in no file."""

    size = 1_200_000

    def read_part(self, start: int, size: int) -> bytes:
        return bytes(size)

    file = None
    position = 0


class _Listener:
    """As much of a listener as a connection asks for."""

    def __init__(self, shared: Shared) -> None:
        self.limits = shared.limits
        self.now = 0.0
        self.names = self.principal_builder = None

    def time(self) -> float:
        return self.now

    def opened(self, connection: Connection) -> None: ...
    def closed(self, connection: Connection) -> None: ...
    def complain(self, what: str, who: str, why: str) -> None: ...


def _answer(connection: Connection, frame: memoryview) -> Answer | Parked | None:
    """What the first byte of a frame says."""
    kind = frame[0] % 8 if frame else 7
    if kind == 0:
        return PARKED
    if kind == 1:
        raise CorruptFrame("as asked")
    if kind == 2:
        return LongAnswer([b"head", _Zeros(), b"tail"])
    if kind == 3:
        connection.hold(1000)
        return PARKED
    return [b"two", bytes(100_000)] if kind == 4 else None if kind == 5 else (bytes(frame),)


async def _feed(data: bytes, shared: Shared) -> None:
    """The first byte of each step says how many bytes come next and what the client does meanwhile."""
    listener = _Listener(shared)
    client = _Wire()
    connection = Connection(
        cast(Listener, listener),
        _answer,
        shared,
        arrival=cast(Arrival, _Arrival(client)),
    )
    transport = _Transport(connection)
    connection.connection_made(cast(asyncio.Transport, transport))
    at = 0
    while at < len(data) and not transport.closed:
        step = data[at]
        at += 1
        listener.now += step
        transport.takes = client.takes = bool(step & 1)
        if step & 2:
            transport.drain()
        if step & 4:
            connection.finish(None if step & 8 else (b"late",))
        if transport.is_reading:
            at += _receive(connection, data[at : at + 1 + step // 8 * 32])
        await asyncio.sleep(0)
        connection.overdue(listener.now)
    connection.connection_lost(None)
    assert shared.budget.used == 0
    assert shared.outbox.count == 0
    assert not shared.budget.receiving
    assert not shared.budget.unread


def _receive(connection: Connection, data: bytes) -> int:
    buffer = connection.get_buffer(-1)
    assert len(buffer) > 0
    count = min(len(buffer), len(data))
    buffer[:count] = data[:count]
    if count:
        connection.buffer_updated(count)
    return count


@cache
def _stage() -> tuple[asyncio.AbstractEventLoop, Shared]:
    limits = Limits(
        max_request_bytes=_MAX_REQUEST,
        max_held_bytes=4_000,
        max_connections=10,
        max_connections_per_ip=10,
        max_connection_rate=1000,
        max_idle_seconds=600.0,
        backlog=1,
        small_request_bytes=200,
    )
    return asyncio.new_event_loop(), Shared(limits, TimedTurns())


def _run(data: bytes) -> None:
    loop, shared = _stage()
    loop.run_until_complete(_feed(data, shared))


def _seeds() -> Sequence[bytes]:
    def framed(payload: bytes) -> bytes:
        return len(payload).to_bytes(4, "big") + payload

    kinds = [framed(bytes([kind]) * size) for kind in range(8) for size in (1, 100, 900)]
    # The client stops reading within a long answer, for which there is no memory.
    stop_reading = b"".join(bytes([1, byte]) for byte in framed(b"\x02")) + bytes(3)
    steps = (b"\x01", b"\xfd", b"\x02", b"\x07", b"\x80")
    mixed = [step + b"".join(kinds[i : i + 3]) for step in steps for i in range(0, len(kinds), 2)]
    return [*mixed, stop_reading]


def _close() -> None:
    if _stage.cache_info().currsize:
        loop, shared = _stage()
        shared.close()
        loop.close()
        _stage.cache_clear()


FRAMES = Target("frames", _run, _seeds, _close)
