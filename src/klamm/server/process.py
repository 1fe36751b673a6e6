"""A node as a process of the real world: its loop, its signals, its exit code."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from threading import Thread

from klamm.base.settings.broker import Settings
from klamm.server.node import CannotStart, Node, Ready
from klamm.server.storage import StorageError
from klamm.server.world.machine import raise_file_limit
from klamm.server.world.real import real_world


def serve(
    settings: Settings, *, announce: Callable[[Ready], None], ends_with_stdin: bool = False
) -> int:
    """Run a broker until SIGTERM or SIGINT, or the end of its stdin; returns the exit code of the process."""
    raise_file_limit()
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(_run_until_stopped(settings, announce, ends_with_stdin))
    except (CannotStart, StorageError) as e:
        print(f"klamm cannot start: {e}", file=sys.stderr)
        return 1


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop's where there is one for the platform. All of it works with asyncio's own, at about twice the CPU."""
    try:
        import uvloop
    except ImportError:
        return asyncio.SelectorEventLoop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _run_until_stopped(
    settings: Settings, announce: Callable[[Ready], None], ends_with_stdin: bool
) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if ends_with_stdin:
        Thread(target=_await_end_of_stdin, args=(loop, stop), daemon=True).start()
    node = Node(settings, real_world())
    await node.start()
    try:
        announce(node.ready)
        # The start need not wait for the codecs, nor should the first batch that needs one.
        import_module("klamm.protocol.records.compression.codecs")
        # What lives now lives for ever: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        # A large request is a hundred thousand objects and no cycle: it should not set off a hundred collections.
        gc.set_threshold(20_000, 20, 50)
        # Signals, or the node itself when it cannot go on.
        node.on_end = stop.set
        await stop.wait()
    finally:
        await node.stop()
    return 1 if node.has_failed else 0


def _await_end_of_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Whoever started us has the other end: it closes when that process is gone, however it went."""
    with suppress(OSError):
        while os.read(sys.stdin.fileno(), 4096):
            pass
    # The loop may have been faster.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(stop.set)
