"""fsync, never on the loop: one worker thread, and one round of it for everybody who came while the last was running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from klamm.log.flush import Flush
from klamm.log.log import Log

Callback = Callable[[], None]


class Flusher:
    """`on_failure` hears of a failed fsync. It is final: what the kernel dropped cannot be asked for again."""

    def __init__(self, on_failure: Callable[[OSError], None]) -> None:
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="klamm-fsync")
        self._on_failure = on_failure
        self._waiting: dict[Log, None] = {}
        self._callbacks: list[Callback] = []
        self._round: asyncio.Task[None] | None = None

    def flush(self, logs: Iterable[Log], then: Callback | None = None) -> None:
        """Write all that these logs hold now to the disk, then call back, on the loop."""
        self._waiting.update(dict.fromkeys(logs))
        if then is not None:
            self._callbacks.append(then)
        if self._round is None:
            self._round = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        if self._round is not None:
            await self._round
        self._worker.shutdown()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting or self._callbacks:
                logs, self._waiting = self._waiting, {}
                callbacks, self._callbacks = self._callbacks, []
                flushes = [(log, flush) for log in logs if (flush := log.begin_flush()) is not None]
                await loop.run_in_executor(self._worker, _sync, [flush for _, flush in flushes])
                for log, flush in flushes:
                    log.end_flush(flush)
                for callback in callbacks:
                    callback()
        except OSError as e:
            self._on_failure(e)
        finally:
            self._round = None


def _sync(flushes: Iterable[Flush]) -> None:
    for flush in flushes:
        flush.run()
