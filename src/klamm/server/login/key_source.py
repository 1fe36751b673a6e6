"""Where the keys that sign tokens come from: a file, or an address that is asked now and then.

Without keys nobody gets in. A list that cannot be read leaves the one before in force, and is told of in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from klamm.base.clock import Ms
from klamm.security.sasl.exchange import LoginRefused
from klamm.security.sasl.signing_keys import SigningKeys, UnknownKey
from klamm.server.world.ports import World

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 10.0
# A token with a key that we do not have makes us look for a newer list, but not more often than this.
_BETWEEN_LOOKS_MS: Ms = 10_000
_FIRST_RETRY_SECONDS = 1.0
# Where nobody else can answer in place of the one who is asked.
_ON_THIS_MACHINE = {("http", "127.0.0.1"), ("http", "localhost"), ("http", "::1")}


class KeySource:
    def __init__(self, world: World, url: str, refresh_ms: Ms) -> None:
        """ValueError: no keys can come from there."""
        self._world = world
        self._url = url
        self._refresh_seconds = max(1.0, refresh_ms / 1000)
        self._keys: SigningKeys | None = None
        self._looked_at: Ms = 0
        self._wanted = asyncio.Event()
        parts = urlsplit(url)
        if parts.scheme == "file":
            # What cannot be read now should be known now.
            self._take(self._read())
        elif parts.scheme != "https" and (parts.scheme, parts.hostname) not in _ON_THIS_MACHINE:
            raise ValueError(f"{url} is not of the form https://host/path or file:///path")
        self._task = asyncio.get_running_loop().create_task(self._refresh())

    def claims(self, token: str) -> Mapping[str, Any]:
        if self._keys is None:
            raise LoginRefused("there are no keys to check a token with yet")
        try:
            return self._keys.claims(token)
        except UnknownKey:
            if self._world.clock.monotonic() - self._looked_at > _BETWEEN_LOOKS_MS:
                self._wanted.set()
            raise

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _refresh(self) -> None:
        pause = self._refresh_seconds if self._keys is not None else 0.0
        failures = 0
        while True:
            try:
                async with asyncio.timeout(pause):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            self._wanted.clear()
            self._looked_at = self._world.clock.monotonic()
            try:
                self._take(await self._world.workers.run(self._read))
            except ValueError as e:
                failures += 1
                pause = min(self._refresh_seconds, _FIRST_RETRY_SECONDS * 2 ** min(failures, 10))
                log.error("no keys for tokens: url=%s reason=%s", self._url, e)
            else:
                failures = 0
                pause = self._refresh_seconds

    def _read(self) -> bytes:
        try:
            if self._url.startswith("file:"):
                return self._world.disk.read(unquote(urlsplit(self._url).path))
            return self._world.network.get(self._url, _TIMEOUT_SECONDS)
        except OSError as e:
            raise ValueError(f"{self._url}: {e}") from None

    def _take(self, text: bytes) -> None:
        try:
            self._keys = SigningKeys(text)
        except ValueError as e:
            raise ValueError(f"{self._url}: {e}") from None
