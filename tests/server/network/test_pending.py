"""Answers that are pending: what is behind them is handled, and answered after them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
import uvloop

from klamm.server.network.pending import MOST_PENDING
from server.echo import an_echo, content, framed, until

T = TypeVar("T")


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Any]], Any]:
    def on_loop(test: Callable[[], Awaitable[T]]) -> T:
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(test())  # type: ignore[arg-type]

    return on_loop


def test_pending_answers_are_sent_in_the_order_of_their_requests(run: Callable[..., Any]) -> None:
    async def test() -> list[bytes]:
        async with an_echo() as served:
            client = await served.connect()
            client.writer.write(framed(b"defer") + framed(b"defer") + framed(b"at once"))
            await until(lambda: served.echo.handled == 3)
            first, second = served.echo.pending
            second.settle((framed(b"second"),))
            first.settle((framed(b"first"),))
            answers = [await client.frame() for _ in range(3)]
            assert served.shared.budget.used == 0
            return answers

    assert run(test) == [b"first", b"second", b"at once"]


def test_only_so_many_are_pending_at_once(run: Callable[..., Any]) -> None:
    async def test() -> list[bytes]:
        async with an_echo() as served:
            client = await served.connect()
            client.writer.write(framed(b"defer") * (MOST_PENDING + 2))
            await until(lambda: served.echo.handled == MOST_PENDING)
            await asyncio.sleep(0)
            assert served.echo.handled == MOST_PENDING
            served.echo.pending[0].settle((framed(b"0"),))
            assert await client.frame() == b"0"
            await until(lambda: served.echo.handled == MOST_PENDING + 1)
            for number in range(1, MOST_PENDING + 1):
                served.echo.pending[number].settle((framed(b"%d" % number),))
            await until(lambda: served.echo.handled == MOST_PENDING + 2)
            served.echo.pending[-1].settle((framed(b"last"),))
            return [await client.frame() for _ in range(MOST_PENDING + 1)]

    assert run(test) == [b"1", b"2", b"3", b"4", b"5", b"last"]


def test_a_parked_request_behind_a_pending_one_is_answered_after_it(
    run: Callable[..., Any],
) -> None:
    async def test() -> list[bytes]:
        async with an_echo() as served:
            client = await served.connect()
            client.writer.write(framed(b"defer") + framed(b"park") + framed(b"after"))
            await until(lambda: served.echo.handled == 2)
            served.echo.parked[0].finish((framed(b"parked"),))
            await until(lambda: served.echo.handled == 3)
            served.echo.pending[0].settle((framed(b"pending"),))
            return [await client.frame() for _ in range(3)]

    assert run(test) == [b"pending", b"parked", b"after"]


def test_long_answers_keep_their_place_too(run: Callable[..., Any]) -> None:
    size = 9_000_000

    async def test() -> list[bytes]:
        async with an_echo() as served:
            client = await served.connect(1 << 20)
            client.writer.write(
                framed(b"defer") + framed(b"file %d" % size) + framed(b"defer") + framed(b"after")
            )
            await until(lambda: served.echo.handled == 4)
            first, second = served.echo.pending
            second.settle((framed(b"second"),))
            first.settle((framed(b"first"),))
            return [await client.frame() for _ in range(4)]

    assert run(test) == [b"first", content(size) + b"end", b"second", b"after"]


def test_who_goes_away_takes_its_pending_answers_along(run: Callable[..., Any]) -> None:
    async def test() -> None:
        async with an_echo() as served:
            client = await served.connect()
            client.writer.write(framed(b"defer"))
            await until(lambda: served.echo.handled == 1)
            client.writer.transport.abort()
            await until(lambda: served.shared.budget.used == 0)
            served.echo.pending[0].settle((framed(b"late"),))
            assert served.shared.budget.used == 0

    run(test)
