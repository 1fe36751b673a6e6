"""Principal builders of one's own: what they cannot change, and what becomes of whom they break over."""

import asyncio
from typing import Any

from klamm.base.principal import KafkaPrincipal
from klamm.security.principal_builder import AuthenticationContext
from server.echo import Pair, an_echo, framed, until


class Renaming:
    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        return KafkaPrincipal("User", "renamed")


class Broken:
    def build(self, context: AuthenticationContext) -> Any:
        raise LookupError(context.principal.name)


def test_a_login_with_a_token_stays_one_under_another_name() -> None:
    async def test() -> KafkaPrincipal:
        async with an_echo() as served:
            served.listener.principal_builder = Renaming()
            pair: Pair = await served.connect()
            pair.writer.write(framed(b"park"))
            await until(lambda: bool(served.echo.parked))
            (connection,) = served.echo.parked
            connection.admit(KafkaPrincipal("User", "ann", is_token=True), served.echo)
            return connection.principal

    assert asyncio.run(test()) == KafkaPrincipal("User", "renamed", is_token=True)


def test_whom_a_builder_breaks_over_is_closed_and_not_served_as_nobody() -> None:
    async def test() -> tuple[bytes, int]:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        async with an_echo() as served:
            served.listener.principal_builder = Broken()
            pair: Pair = await served.connect()
            pair.writer.write(framed(b"who"))
            return await pair.rest(), served.echo.handled

    assert asyncio.run(test()) == (b"", 0)
