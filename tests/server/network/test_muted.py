"""A client that has used up its quota: it is not read, and nothing of it outlives it."""

import asyncio
import gc

from klamm.server.network.connection import Connection
from server.echo import an_echo, framed, until


def test_nothing_stays_of_a_client_that_was_gone_when_its_quota_was_used_up() -> None:
    async def test() -> None:
        async with an_echo() as served:
            pair = await served.connect()
            pair.writer.write(framed(b"park"))
            await until(lambda: bool(served.echo.parked))
            pair.writer.transport.abort()
            await until(lambda: not served.shared.admission)
            served.echo.parked[0].mute(1_000_000)
            served.echo.parked.clear()
            gc.collect()
            assert not [
                each
                for each in gc.get_objects()
                if isinstance(each, Connection) and each.listener is served.listener
            ]

    asyncio.run(test())


def test_a_client_that_went_away_while_it_was_muted_does_not_keep_its_place() -> None:
    async def test() -> None:
        async with an_echo(max_idle_seconds=0.1) as served:
            pair = await served.connect()
            pair.writer.write(framed(b"park"))
            await until(lambda: bool(served.echo.parked))
            served.echo.parked[0].mute(1_000_000)
            served.echo.parked[0].finish(None)
            pair.writer.transport.abort()

            await until(lambda: not served.shared.admission)

    asyncio.run(test())
