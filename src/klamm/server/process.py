"""A node as a process of the real world: its loop, its signals, its exit code."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Callable
from importlib import import_module

from klamm.base.settings.broker import Settings
from klamm.server.node import CannotStart, Node, Ready
from klamm.server.storage import StorageError
from klamm.server.world.machine import raise_file_limit
from klamm.server.world.real import real_world


def serve(settings: Settings, *, announce: Callable[[Ready], None]) -> int:
    """Run a broker until SIGTERM or SIGINT; returns the exit code of the process."""
    raise_file_limit()
    try:
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_run_until_stopped(settings, announce))
    except (CannotStart, StorageError) as e:
        print(f"klamm cannot start: {e}", file=sys.stderr)
        return 1


async def _run_until_stopped(settings: Settings, announce: Callable[[Ready], None]) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
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
