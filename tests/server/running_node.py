"""A whole node in this process: its loop runs in a thread of its own, clients come over the network."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self, TypeVar

import uvloop

from klamm.base.settings.load import load
from klamm.log.disk import Disk
from klamm.server.node import Node
from klamm.server.world.real import real_world
from support.brokers import free_port

T = TypeVar("T")


class RunningNode:
    """Started when it is made; `stop` is a clean stop. Settings have their Kafka names."""

    def __init__(
        self, data: Path, settings: dict[str, object] | None = None, *, disk: Disk | None = None
    ) -> None:
        listener = f"PLAINTEXT://127.0.0.1:{free_port()}"
        wanted = {"listeners": listener, "log.dirs": data, **(settings or {})}
        self.settings = load(overrides=[f"{name}={value}" for name, value in wanted.items()])
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.node = Node(self.settings, real_world(disk))
        try:
            self.run(self.node.start())
        except BaseException:
            self._end_loop()
            raise

    @property
    def address(self) -> str:
        return self.node.ready.address

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the node's loop and gives its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def call(self, look: Callable[[], T]) -> T:
        """Calls a function on the node's loop: the way to look at its state without a race."""
        result: Future[T] = Future()

        def act() -> None:
            try:
                result.set_result(look())
            except BaseException as e:  # noqa: BLE001 - it is the caller's
                result.set_exception(e)

        self._loop.call_soon_threadsafe(act)
        return result.result(30)

    def stop(self) -> None:
        try:
            self.run(self.node.stop())
        finally:
            self._end_loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()
