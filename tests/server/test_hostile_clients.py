"""Clients that mean no good, or are broken: each limit holds, and the others are served."""

import asyncio
import os
import resource
import socket
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
import uvloop

from klamm.server.network import listener as listener_module
from klamm.server.network.limits import READ_AT_ONCE
from server.echo import Served, an_echo, framed, until


def run(test: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(test)


async def is_served(served: Served) -> bool:
    client = await served.connect()
    client.writer.write(framed(b"hello"))
    return bool(await asyncio.wait_for(client.frame(), 10) == b"hello")


# -- memory ---------------------------------------------------------------------------------------------------------


def test_a_frame_costs_what_has_come_of_it_and_not_what_it_announces() -> None:
    async def test() -> None:
        async with an_echo(max_request_bytes=100 << 20) as served:
            budget = served.shared.budget
            for _ in range(50):
                client = await served.connect()
                client.writer.write((64 << 20).to_bytes(4, "big") + b"x" * 10)
            await until(lambda: len(budget.receiving) == 50)

            assert budget.used == 50 * 14
            assert await is_served(served)

    run(test())


@pytest.mark.parametrize("size", [20_000, 60_000, 400_000])
def test_many_half_frames_stop_at_the_budget_and_all_come_through_in_the_end(size: int) -> None:
    limit = 10 * size

    async def test() -> None:
        async with an_echo(max_held_bytes=limit, small_request_bytes=0) as served:
            budget = served.shared.budget
            clients = [await served.connect() for _ in range(30)]
            most = 0

            async def talk(client: Any, payload: bytes) -> bytes:
                nonlocal most
                data = framed(payload)
                for at in range(0, len(data), size // 8):
                    client.writer.write(data[at : at + size // 8])
                    await asyncio.sleep(0)
                    most = max(most, budget.used)
                answer: bytes = await client.frame()
                return answer

            payloads = [bytes([i]) * size for i in range(30)]
            answers = await asyncio.gather(*map(talk, clients, payloads))

            assert answers == payloads
            assert most <= limit + size + READ_AT_ONCE
            assert budget.used == 0
            assert not budget.is_used_up

    run(test())


def test_who_holds_memory_and_does_not_move_makes_room_for_those_who_wait() -> None:
    async def test() -> None:
        limits = {"max_held_bytes": 1_000_000, "frame_seconds_when_short": 0.2}
        async with an_echo(**limits, small_request_bytes=0) as served:
            stalled = [await served.connect() for _ in range(4)]
            for client in stalled:
                client.writer.write(framed(b"x" * 500_000)[:250_001])
            await until(lambda: served.shared.budget.is_used_up)
            waiting = await served.connect()
            waiting.writer.write(framed(b"y" * 400_000))
            # Small requests need no memory of their own.
            assert await is_served(served)

            answer = await asyncio.wait_for(waiting.frame(), 20)

            assert answer == b"y" * 400_000
            assert await stalled[0].rest() == b""

    run(test())


def test_the_one_who_may_go_on_loses_its_turn_if_it_takes_too_long() -> None:
    async def test() -> bytes:
        limits = {"max_held_bytes": 300_000, "turn_seconds": 0.2, "small_request_bytes": 0}
        async with an_echo(**limits) as served:
            budget = served.shared.budget
            slow = await served.connect()
            slow.writer.write(framed(b"x" * 400_000)[:-50_000])
            await until(lambda: budget.is_used_up)
            waiting = await served.connect()
            waiting.writer.write(framed(b"y" * 290_000))

            async def trickle() -> None:
                while not slow.writer.is_closing():
                    slow.writer.write(b"x")
                    await asyncio.sleep(0)

            trickling = asyncio.create_task(trickle())
            answer: bytes = await asyncio.wait_for(waiting.frame(), 20)
            trickling.cancel()
            return answer

    assert run(test()) == b"y" * 290_000


def test_small_requests_do_not_wait_for_the_memory_that_large_ones_hold() -> None:
    async def test() -> None:
        limits = {"max_held_bytes": 1_000_000, "small_request_bytes": 100_000}
        async with an_echo(**limits) as served:
            budget = served.shared.budget
            for _ in range(5):
                large = await served.connect()
                large.writer.write(framed(b"x" * 500_000)[:250_000])
            await until(lambda: budget.is_used_up)
            small = await served.connect()
            small.writer.write(framed(b"y" * 90_000)[:50_000])
            await until(lambda: len(budget.receiving) == 6)
            small.writer.write(framed(b"y" * 90_000)[50_000:])

            assert await asyncio.wait_for(small.frame(), 10) == b"y" * 90_000
            assert budget.is_used_up

    run(test())


def test_small_half_requests_beyond_the_budget_are_given_up_the_oldest_first() -> None:
    async def test() -> None:
        async with an_echo(max_held_bytes=1_000_000, max_request_bytes=100_000) as served:
            clients = []
            for _ in range(20):
                client = await served.connect()
                client.writer.write(framed(b"x" * 100_000)[:-1])
                clients.append(client)
                await client.writer.drain()
            await until(lambda: len(served.shared.admission) < 20)

            assert served.shared.budget.used <= 1_350_000
            assert await clients[0].rest() == b""
            clients[-1].writer.write(b"x")
            assert await clients[-1].frame() == b"x" * 100_000

    run(test())


def test_unread_answers_beyond_the_budget_are_given_up_the_oldest_first() -> None:
    async def test() -> None:
        async with an_echo(max_held_bytes=40_000_000, max_request_bytes=100) as served:
            budget = served.shared.budget
            clients = []
            for _ in range(8):
                client = await served.connect()
                client.writer.write(framed(b"many 20000000"))
                clients.append(client)
                await until(lambda: served.echo.handled == len(clients))
                assert budget.used <= 40_000_000 * 5 // 4

            assert len(await clients[0].rest()) < 20_000_004
            assert len(await clients[-1].frame()) == 20_000_000
            assert await is_served(served)

    run(test())


def test_a_client_that_is_gone_gives_back_all_it_held() -> None:
    async def test() -> None:
        async with an_echo(max_request_bytes=100 << 20) as served:
            budget = served.shared.budget
            half, choked, long, parked = [await served.connect() for _ in range(4)]
            half.writer.write(framed(b"x" * 500_000)[:100_000])
            choked.writer.write(framed(b"many 50000000") * 3)
            long.writer.write(framed(b"long 50000000") * 3)
            parked.writer.write(framed(b"park"))
            await until(lambda: len(budget.unread) == 2 and served.shared.outbox.count == 1)
            await until(lambda: len(served.echo.parked) == 1 and len(budget.receiving) == 1)
            served.echo.parked[0].hold(5000)
            assert budget.used > 100_000

            for client in (half, choked, long, parked):
                client.writer.transport.abort()
            await until(lambda: len(served.shared.admission) == 0)

            assert budget.used == 0
            assert served.shared.outbox.count == 0
            assert not budget.receiving
            assert not budget.unread

    run(test())


def test_short_of_memory_a_request_may_not_be_parked() -> None:
    async def test() -> None:
        async with an_echo(max_held_bytes=100_000) as served:
            client = await served.connect()
            client.writer.write(framed(b"park"))
            await until(lambda: len(served.echo.parked) == 1)
            (parked,) = served.echo.parked

            assert parked.may_park(90_000)
            assert parked.may_park(20_000)
            assert not parked.may_park(1)
            parked.finish(None)
            assert parked.may_park(1)

    run(test())


# -- time -----------------------------------------------------------------------------------------------------------


async def _silence(served: Served) -> Any:
    return await served.connect()


async def _half_a_frame(served: Served) -> Any:
    client = await served.connect()
    client.writer.write(framed(b"first") + framed(b"x" * 1000)[:500])
    assert await client.frame() == b"first"
    return client


async def _one_byte_at_a_time(served: Served) -> Any:
    client = await _half_a_frame(served)

    async def trickle() -> None:
        while not client.writer.is_closing() and served.shared.budget.receiving:
            client.writer.write(b"x" if served.shared.budget.used < 900 else b"")
            await asyncio.sleep(0)

    served.echo.trickle = asyncio.create_task(trickle())  # type: ignore[attr-defined]
    return client


async def _idleness(served: Served) -> Any:
    client = await served.connect()
    client.writer.write(framed(b"first"))
    assert await client.frame() == b"first"
    return client


@pytest.mark.parametrize(
    ("behaviour", "limit"),
    [
        (_silence, {"first_request_seconds": 0.2}),
        (_half_a_frame, {"frame_seconds": 0.2}),
        (_one_byte_at_a_time, {"frame_seconds": 0.2}),
        (_idleness, {"max_idle_seconds": 0.2}),
    ],
)
def test_who_keeps_us_waiting_is_closed(
    behaviour: Callable[[Served], Awaitable[Any]], limit: dict[str, float]
) -> None:
    async def test() -> bytes:
        async with an_echo(**limit) as served:
            client = await behaviour(served)
            rest: bytes = await client.rest()
            return rest

    assert run(test()) == b""


@pytest.mark.parametrize("request_", [b"many 50000000", b"long 50000000"])
def test_who_does_not_read_its_answer_is_closed(request_: bytes) -> None:
    async def test() -> None:
        async with an_echo(frame_seconds=0.2) as served:
            client = await served.connect()
            client.writer.write(framed(request_))
            await until(lambda: bool(served.shared.budget.unread))

            await until(lambda: len(served.shared.admission) == 0)

            assert not served.shared.budget.unread
            assert len(await client.rest()) < 50_000_000

    run(test())


def test_who_waits_for_us_is_not_closed() -> None:
    async def test() -> bytes:
        limits = {"max_idle_seconds": 0.2, "frame_seconds": 0.2, "first_request_seconds": 0.2}
        async with an_echo(**limits) as served:
            idle, waiting = await served.connect(), await served.connect()
            waiting.writer.write(framed(b"park"))
            assert await idle.rest() == b""
            served.echo.parked[0].finish((framed(b"released"),))
            answer: bytes = await waiting.frame()
            return answer

    assert run(test()) == b"released"


def test_who_sends_more_while_it_waits_is_closed_after_the_idle_time() -> None:
    async def test() -> bytes:
        async with an_echo(max_idle_seconds=0.2) as served:
            client = await served.connect()
            client.writer.write(framed(b"park") + framed(b"next"))
            rest: bytes = await client.rest()
            return rest

    assert run(test()) == b""


# -- connections ----------------------------------------------------------------------------------------------------


def test_a_connection_over_the_limit_waits_until_another_one_leaves() -> None:
    async def test() -> bytes:
        async with an_echo(max_connections=2) as served:
            first, second = await served.connect(), await served.connect()
            for client in (first, second):
                client.writer.write(framed(b"served"))
                assert await client.frame() == b"served"
            third = await served.connect()
            third.writer.write(framed(b"third"))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(third.reader.readexactly(1), 0.3)
            first.writer.close()
            answer: bytes = await asyncio.wait_for(third.frame(), 20)
            return answer

    assert run(test()) == b"third"


def test_too_many_connections_of_one_address_are_refused() -> None:
    async def test(**limits: Any) -> bytes:
        async with an_echo(**limits) as served:
            assert await is_served(served)
            refused = await served.connect()
            refused.writer.write(framed(b"hello"))
            rest: bytes = await refused.reader.read(100)
            return rest

    assert run(test(max_connections_per_ip=1)) == b""
    overrides = {"127.0.0.1": 2}
    assert run(test(max_connections_per_ip=1, connections_per_ip_overrides=overrides)) != b""


def test_no_more_connections_are_accepted_in_a_second_than_configured() -> None:
    async def test() -> tuple[float, float]:
        async with an_echo(max_connection_rate=4) as served:
            loop = asyncio.get_running_loop()
            start = loop.time()
            assert all([await is_served(served) for _ in range(4)])
            burst = loop.time() - start
            assert all([await is_served(served) for _ in range(2)])
            return burst, loop.time() - start

    burst, all_six = run(test())

    assert all_six >= 0.45
    assert burst < all_six


def test_without_descriptors_connections_wait_and_the_loop_does_not_spin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener_module, "_NO_DESCRIPTOR_SECONDS", 0.2)

    async def test() -> int:
        async with an_echo() as served:
            assert await is_served(served)
            attempts = 0
            complain = served.listener.complain

            def count(what: str, who: str, why: str) -> None:
                nonlocal attempts
                attempts += 1
                complain(what, who, why)

            monkeypatch.setattr(served.listener, "complain", count)
            loop = asyncio.get_running_loop()
            with socket.socket() as client:
                client.setblocking(False)
                os.close(free := os.dup(client.fileno()))
                soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
                resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
                try:
                    await loop.sock_connect(client, ("127.0.0.1", served.listener.port))
                    await loop.sock_sendall(client, framed(b"hello"))
                    with pytest.raises(TimeoutError):
                        await asyncio.wait_for(loop.sock_recv(client, 100), 0.5)
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                assert await loop.sock_recv(client, 100) == framed(b"hello")
            return attempts

    assert 1 <= run(test()) <= 5


def test_bad_clients_cannot_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with an_echo(max_request_bytes=100) as served:
            for _ in range(200):
                client = await served.connect()
                client.writer.write(b"HTTP / GET")
                assert await client.rest() == b""

    run(test())

    assert 1 <= len(caplog.records) <= 12
