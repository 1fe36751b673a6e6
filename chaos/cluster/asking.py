"""Questions of an administrator, asked from a thread that has no loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from klamm.client import Admin
from klamm.client.cluster import ClusterSettings

T = TypeVar("T")


def ask(bootstrap: str, work: Callable[[Admin], Awaitable[T]], *, timeout_ms: int) -> T:
    async def run() -> T:
        settings = ClusterSettings(
            client_id="chaos",
            request_timeout_ms=timeout_ms,
            connect_timeout_ms=min(timeout_ms, 2000),
            api_timeout_ms=timeout_ms,
        )
        async with Admin(bootstrap, settings) as admin:
            return await work(admin)

    return asyncio.run(run())
