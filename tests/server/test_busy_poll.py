"""When the loop looks for the next request before it sleeps, and when it does not."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from klamm.base.settings.broker import build_settings
from klamm.server.network import limits
from klamm.server.network.busy_poll import BusyPoll
from klamm.server.world.machine import cores, this_machine
from server.echo import an_echo, framed

WINDOW = 1.0


class Arrivals:
    """Requests at the times that a test chooses."""

    def __init__(self, window: float = WINDOW) -> None:
        self.now = 1000.0
        self.poll = BusyPoll(window, time=lambda: self.now)

    async def come(self, count: int, *, apart: float) -> None:
        for _ in range(count):
            self.now += apart
            self.poll.handled()
            await asyncio.sleep(0)

    async def nothing_comes_for(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def run(test: Callable[[Arrivals], Awaitable[None]], window: float = WINDOW) -> None:
    asyncio.run(test(Arrivals(window)))  # type: ignore[arg-type]


def test_requests_that_follow_closely_keep_the_loop_awake() -> None:
    async def test(arrivals: Arrivals) -> None:
        await arrivals.come(9, apart=2.5)

        assert arrivals.poll.is_looking
        await arrivals.come(100, apart=0.9)
        assert arrivals.poll.is_looking

    run(test)


@pytest.mark.parametrize("apart", [3.0, 50.0])
def test_requests_with_time_between_them_do_not(apart: float) -> None:
    async def test(arrivals: Arrivals) -> None:
        await arrivals.come(100, apart=apart)

        assert not arrivals.poll.is_looking

    run(test)


def test_one_pause_among_close_requests_begins_the_count_again() -> None:
    async def test(arrivals: Arrivals) -> None:
        await arrivals.come(8, apart=0.5)
        await arrivals.come(1, apart=5.0)
        await arrivals.come(7, apart=0.5)

        assert not arrivals.poll.is_looking
        await arrivals.come(1, apart=0.5)
        assert arrivals.poll.is_looking

    run(test)


async def requests_until_it_looks(arrivals: Arrivals) -> int:
    await arrivals.come(1, apart=50.0)
    count = 0
    while not arrivals.poll.is_looking:
        await arrivals.come(1, apart=0.5)
        count += 1
    return count


def test_looks_in_vain_make_it_wait_for_more_requests_each_time() -> None:
    async def test(arrivals: Arrivals) -> None:
        counts = []
        for _ in range(10):
            counts.append(await requests_until_it_looks(arrivals))
            await arrivals.nothing_comes_for(WINDOW)
            assert not arrivals.poll.is_looking

        assert counts == [8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024]

    run(test)


def test_a_look_that_found_as_many_requests_as_it_took_to_begin_is_forgiven_its_end() -> None:
    async def test(arrivals: Arrivals) -> None:
        for found, expected in ((0, 8), (7, 16), (8, 32), (0, 8)):
            assert await requests_until_it_looks(arrivals) == expected
            await arrivals.come(found, apart=0.5)
            await arrivals.nothing_comes_for(WINDOW)

    run(test)


def test_without_a_window_the_loop_always_sleeps() -> None:
    async def test(arrivals: Arrivals) -> None:
        await arrivals.come(100, apart=0.0)

        assert not arrivals.poll.is_looking

    run(test, window=0.0)


def test_connections_tell_of_what_they_read() -> None:
    async def test() -> None:
        async with an_echo(busy_poll_seconds=60.0) as served:
            client = await served.connect()
            for _ in range(9):
                client.writer.write(framed(b"request"))
                await client.frame()
            assert served.shared.busy_poll.is_looking

    asyncio.run(test())


@pytest.mark.parametrize(("available", "seconds"), [(2, 0.00025), (1, 0.0), (0.5, 0.0)])
def test_on_a_single_core_the_client_needs_it(available: float, seconds: float) -> None:
    machine = replace(this_machine(), cores=available)
    network = build_settings({"klamm.busy.poll.us": "250"}).network

    assert limits.limits_of(network, machine).busy_poll_seconds == seconds


@pytest.mark.parametrize(("text", "most"), [("50000 100000\n", 0.5), ("max 100000\n", 1 << 20)])
def test_a_container_may_use_what_its_quota_says(tmp_path: Path, text: str, most: float) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text(text)

    assert 0 < cores(quota) <= most
