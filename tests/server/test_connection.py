"""Frames over a real socket: cut anywhere, pipelined, too large, parked; answers small and long."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest
import uvloop

from server.echo import SECURED, an_echo, content, framed, until
from support.tls.certificates import Certificates

T = TypeVar("T")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    certificates = Certificates(tmp_path_factory.mktemp("certificates"))
    return str(certificates.issue("server").store), str(certificates.ca)


@pytest.fixture(params=["asyncio", "uvloop", "uvloop and TLS"])
def run(request: pytest.FixtureRequest, stores: tuple[str, str]) -> Iterator[Callable[..., Any]]:
    """Both loops must do: they differ in when they write and when they ask to pause. TLS must not be noticed."""
    loop, _, is_secured = request.param.partition(" and ")

    def on_loop(test: Callable[[], Awaitable[T]]) -> T:
        factory = asyncio.new_event_loop if loop == "asyncio" else uvloop.new_event_loop
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(test())  # type: ignore[arg-type]

    token = SECURED.set(stores if is_secured else None)
    yield on_loop
    SECURED.reset(token)


def test_pipelined_frames_are_answered_in_their_order(run: Callable[..., Any]) -> None:
    async def test() -> list[bytes]:
        async with an_echo() as served:
            client = await served.connect()
            client.writer.write(b"".join(framed(b"request %d" % i) for i in range(100)))
            return [await client.frame() for _ in range(100)]

    assert run(test) == [b"request %d" % i for i in range(100)]


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 5, 7, 11])
def test_a_frame_may_arrive_in_any_number_of_pieces(run: Callable[..., Any], cut: int) -> None:
    async def test() -> list[bytes]:
        async with an_echo() as served:
            client = await served.connect()
            data = framed(b"first frame") + framed(b"second") + framed(b"x" * 300)
            for at in range(0, len(data), cut):
                client.writer.write(data[at : at + cut])
                await client.writer.drain()
                await asyncio.sleep(0)
            return [await client.frame() for _ in range(3)]

    assert run(test) == [b"first frame", b"second", b"x" * 300]


@pytest.mark.parametrize("size", [5_000, 60_000, 300_000, 768_000])
def test_a_frame_of_any_size_arrives_whole_though_it_comes_in_parts(
    run: Callable[..., Any], size: int
) -> None:
    payload = (bytes(range(256)) * 3000)[:size]

    async def test() -> bytes:
        async with an_echo() as served:
            client = await served.connect()
            whole = framed(b"small") + framed(payload)
            client.writer.write(whole[:1000])
            assert await client.frame() == b"small"
            client.writer.write(whole[1000:])
            answer: bytes = await client.frame()
            assert served.shared.budget.used == 0
            return answer

    assert run(test) == payload


@pytest.mark.parametrize("size", [-1, 101])
def test_a_size_outside_the_limit_closes_the_connection_at_once(
    run: Callable[..., Any], size: int
) -> None:
    async def test() -> bytes:
        async with an_echo(max_request_bytes=100) as served:
            client = await served.connect()
            client.writer.write(framed(b"good") + size.to_bytes(4, "big", signed=True))
            rest: bytes = await client.rest()
            return rest

    assert run(test) == framed(b"good")


def test_what_comes_after_a_parked_request_waits_for_it(run: Callable[..., Any]) -> None:
    async def test() -> list[bytes]:
        async with an_echo() as served:
            client, other = await served.connect(), await served.connect()
            client.writer.write(framed(b"before") + framed(b"park") + framed(b"after"))
            assert await client.frame() == b"before"
            # The other connection is served while the first one waits.
            other.writer.write(framed(b"hello"))
            assert await other.frame() == b"hello"
            served.echo.parked[0].finish((framed(b"released"),))
            return [await client.frame() for _ in range(2)]

    assert run(test) == [b"released", b"after"]


def test_answers_that_are_not_read_stop_the_requests_behind_them(run: Callable[..., Any]) -> None:
    async def test() -> int:
        async with an_echo() as served:
            client = await served.connect()
            client.writer.write(framed(b"many 8000000") * 20)
            await until(lambda: bool(served.shared.budget.unread))
            stopped_after = served.echo.handled
            for _ in range(20):
                assert await client.frame() == bytes(8_000_000)
            assert served.shared.budget.used == 0
            return stopped_after

    # The kernel takes a few; then it is the client's turn.
    assert run(test) <= 3


def test_a_long_answer_is_read_from_its_file_as_the_client_takes_it(
    run: Callable[..., Any],
) -> None:
    size = 50_000_000

    async def test() -> tuple[int, int]:
        async with an_echo() as served:
            client = await served.connect()
            client.writer.write(framed(b"long %d" % size) + framed(b"next"))
            await until(lambda: bool(served.shared.budget.unread))
            read_ahead = served.echo.long[0].read
            assert len(await client.frame()) == size
            assert await client.frame() == b"next"
            assert served.shared.budget.used == served.shared.outbox.count == 0
            return read_ahead, served.echo.long[0].read

    read_ahead, read = run(test)

    assert read_ahead < size / 2
    assert read == size


def test_an_answer_whose_file_ends_early_closes_the_connection(run: Callable[..., Any]) -> None:
    async def test() -> None:
        async with an_echo() as served:
            client = await served.connect()
            client.writer.write(framed(b"long 50000000"))
            await until(lambda: bool(served.shared.budget.unread))
            served.echo.long[0].read_part = lambda start, size: b""  # type: ignore[method-assign]
            assert len(await client.rest()) < 50_000_000
            assert served.shared.budget.used == served.shared.outbox.count == 0

    run(test)


@pytest.mark.parametrize("size", [1, 100_000, 30_000_000])
def test_an_answer_in_a_file_arrives_whole_and_before_the_next(
    run: Callable[..., Any], size: int
) -> None:
    async def test() -> tuple[bytes, bytes, bytes]:
        async with an_echo() as served:
            client = await served.connect()
            client.writer.write(framed(b"first") + framed(b"file %d" % size) + framed(b"next"))
            first = await client.frame()
            if size > 10_000_000:
                # More than the kernel takes: a part of it waits for us to read.
                await until(lambda: bool(served.shared.budget.unread))
            answer, following = await client.frame(), await client.frame()
            assert served.shared.budget.used == served.shared.outbox.count == 0
            assert answer == content(size) + b"end"
            return first, answer[-3:], following

    assert run(test) == (b"first", b"end", b"next")


def test_an_answer_whose_file_was_cut_closes_the_connection(run: Callable[..., Any]) -> None:
    async def test() -> None:
        async with an_echo() as served:
            client = await served.connect()
            client.writer.write(framed(b"file 30000000"))
            await until(lambda: bool(served.shared.budget.unread))
            served.echo.files[0].file.truncate(10_000_000)
            assert len(await client.rest()) < 30_000_000
            assert served.shared.budget.used == served.shared.outbox.count == 0

    run(test)


def test_beyond_the_limit_of_long_answers_the_next_is_read_into_memory(
    run: Callable[..., Any],
) -> None:
    size = 30_000_000

    async def test() -> None:
        async with an_echo() as served:
            served.shared.outbox.count = 256
            client = await served.connect()
            client.writer.write(framed(b"file %d" % size) + framed(b"next"))
            await until(lambda: bool(served.shared.budget.unread))
            # Its file may go: nobody will read it any more.
            served.echo.files[0].file.truncate(0)
            assert await client.frame() == content(size) + b"end"
            assert await client.frame() == b"next"
            assert served.shared.outbox.count == 256

    run(test)


def test_who_sends_much_at_once_is_served_a_little_in_each_turn_of_the_loop(
    run: Callable[..., Any],
) -> None:
    """Others have their turn in between."""
    frames = 40

    async def test() -> int:
        handled_before_turn = [0]
        most = 0

        def begin_turn() -> None:
            nonlocal most
            most = max(most, served.echo.handled - handled_before_turn[0])
            handled_before_turn[0] = served.echo.handled
            if served.echo.handled < frames:
                loop.call_soon(begin_turn)

        async with an_echo() as served:
            loop = asyncio.get_running_loop()
            client = await served.connect()
            client.writer.write(framed(b"many 1".ljust(1_000_000)) * frames)
            begin_turn()
            for _ in range(frames):
                assert await client.frame() == bytes(1)
            begin_turn()
            return most

    assert run(test) <= 2
