"""Workers that are threads, and for compaction a process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from klamm.log.disk import Disk, RealDisk
from klamm.server.world.compaction import CompactionHere, CompactionWorker
from klamm.server.world.compaction_process import CompactionProcess

Parameters = ParamSpec("Parameters")
T = TypeVar("T")

# The file system commits for all who wait at the same time, instead of once for each.
_SIDE_BY_SIDE = 16


class ThreadWorker:
    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(
        self, work: Callable[Parameters, T], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(work, *args, **kwargs))

    def run_now(self, work: Callable[[], T]) -> T:
        return self._thread.submit(work).result()

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)


class Threads:
    def worker(self, name: str) -> ThreadWorker:
        return ThreadWorker(name)

    async def run(
        self, work: Callable[Parameters, T], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, partial(work, *args, **kwargs))

    def side_by_side(self, works: Sequence[Callable[[], None]]) -> None:
        with ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE) as threads:
            for done in [threads.submit(work) for work in works]:
                done.result()

    def compaction(self, disk: Disk) -> CompactionWorker:
        """A disk that exists only in this process is compacted in this process."""
        return CompactionProcess() if isinstance(disk, RealDisk) else CompactionHere(disk)
