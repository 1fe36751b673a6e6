"""Frames over a real socket: cut anywhere, pipelined, too large, parked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from klamm.server.network.connection import PARKED, Answer, Connection, Parked
from klamm.server.network.limits import Limits
from klamm.server.network.listener import Listener


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


class Echo:
    """Answers each frame with itself; a frame of b"park" waits until it is released."""

    def __init__(self) -> None:
        self.parked: list[Connection] = []

    def __call__(self, connection: Connection, frame: memoryview) -> Answer | Parked | None:
        if frame == b"park":
            self.parked.append(connection)
            return PARKED
        return (framed(bytes(frame)),)


@asynccontextmanager
async def an_echo(
    *,
    max_request_bytes: int = 1 << 20,
    max_idle_ms: int = 60_000,
    max_connections: int = 100,
    max_per_ip: int = 100,
) -> AsyncIterator[
    tuple[Echo, Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]]
]:
    limits = Limits(
        max_request_bytes=max_request_bytes,
        max_idle_ms=max_idle_ms,
        max_connections=max_connections,
        max_connections_per_ip=max_per_ip,
        overrides_per_ip={},
        backlog=10,
    )
    listener = Listener("PLAINTEXT", "127.0.0.1", 0, limits=limits, is_controller=False)
    echo = Echo()
    await listener.serve(echo)
    writers = []

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writers.append(writer)
        return reader, writer

    try:
        yield echo, connect
    finally:
        for writer in writers:
            writer.close()
        listener.close()
        await asyncio.sleep(0)


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    size = int.from_bytes(await reader.readexactly(4), "big")
    return await reader.readexactly(size)


def test_pipelined_frames_are_answered_in_their_order() -> None:
    async def run() -> list[bytes]:
        async with an_echo() as (_, connect):
            reader, writer = await connect()
            writer.write(b"".join(framed(b"request %d" % i) for i in range(100)))
            return [await read_frame(reader) for _ in range(100)]

    assert asyncio.run(run()) == [b"request %d" % i for i in range(100)]


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 5, 7, 11])
def test_a_frame_may_arrive_in_any_number_of_pieces(cut: int) -> None:
    async def run() -> list[bytes]:
        async with an_echo() as (_, connect):
            reader, writer = await connect()
            data = framed(b"first frame") + framed(b"second") + framed(b"x" * 300)
            for at in range(0, len(data), cut):
                writer.write(data[at : at + cut])
                await writer.drain()
                await asyncio.sleep(0)
            return [await read_frame(reader) for _ in range(3)]

    assert asyncio.run(run()) == [b"first frame", b"second", b"x" * 300]


def test_a_frame_larger_than_the_shared_buffer_arrives_whole() -> None:
    payload = bytes(range(256)) * 3000

    async def run() -> bytes:
        async with an_echo() as (_, connect):
            reader, writer = await connect()
            writer.write(framed(b"small") + framed(payload))
            assert await read_frame(reader) == b"small"
            return await read_frame(reader)

    assert asyncio.run(run()) == payload


@pytest.mark.parametrize("size", [-1, 101])
def test_a_size_outside_the_limit_closes_the_connection_at_once(size: int) -> None:
    async def run() -> bytes:
        async with an_echo(max_request_bytes=100) as (_, connect):
            reader, writer = await connect()
            writer.write(size.to_bytes(4, "big", signed=True))
            return await reader.read()

    assert asyncio.run(run()) == b""


def test_what_comes_after_a_parked_request_waits_for_it() -> None:
    async def run() -> list[bytes]:
        async with an_echo() as (echo, connect):
            reader, writer = await connect()
            other_reader, other_writer = await connect()
            writer.write(framed(b"before") + framed(b"park") + framed(b"after"))
            assert await read_frame(reader) == b"before"
            # The other connection is served while the first one waits.
            other_writer.write(framed(b"hello"))
            assert await read_frame(other_reader) == b"hello"
            echo.parked[0].finish((framed(b"released"),))
            return [await read_frame(reader) for _ in range(2)]

    assert asyncio.run(run()) == [b"released", b"after"]


def test_an_idle_connection_is_closed_and_a_parked_one_is_not() -> None:
    async def run() -> bool:
        async with an_echo(max_idle_ms=200) as (echo, connect):
            idle, _ = await connect()
            waiting, waiting_writer = await connect()
            waiting_writer.write(framed(b"park"))
            assert await asyncio.wait_for(idle.read(), 10) == b""
            echo.parked[0].finish((framed(b"released"),))
            return await read_frame(waiting) == b"released"

    assert asyncio.run(run())


@pytest.mark.parametrize("limit", [{"max_connections": 1}, {"max_per_ip": 1}])
def test_a_connection_over_a_limit_is_refused(limit: dict[str, int]) -> None:
    async def run() -> bytes:
        async with an_echo(**limit) as (_, connect):
            reader, writer = await connect()
            writer.write(framed(b"served"))
            assert await read_frame(reader) == b"served"
            refused, _ = await connect()
            return await refused.read()

    assert asyncio.run(run()) == b""
