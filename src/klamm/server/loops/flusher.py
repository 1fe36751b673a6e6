"""fsync, never on the loop: one worker thread, and one round of it for everybody who came while the last was running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from klamm.log.flush import Flush
from klamm.log.log import Log

# Called with the logs whose sync failed: what they hold may not be acknowledged.
Callback = Callable[[frozenset[Log]], None]
OnFailure = Callable[[Log, OSError], None]


class Flusher:
    """`on_failure` hears of a failed fsync. It is final: what the kernel dropped cannot be asked for again."""

    def __init__(self, on_failure: OnFailure) -> None:
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
        while self._waiting or self._callbacks:
            logs, self._waiting = self._waiting, {}
            callbacks, self._callbacks = self._callbacks, []
            flushes = [(log, flush) for log in logs if (flush := log.begin_flush()) is not None]
            errors = await loop.run_in_executor(self._worker, _sync, [each for _, each in flushes])
            failed = set()
            for (log, flush), error in zip(flushes, errors, strict=True):
                if error is None:
                    log.end_flush(flush)
                else:
                    failed.add(log)
                    self._on_failure(log, error)
            for callback in callbacks:
                callback(frozenset(failed))
        self._round = None


def _sync(flushes: Sequence[Flush]) -> list[OSError | None]:
    """In the worker thread. One log that fails does not keep the others from being synced."""
    errors: list[OSError | None] = []
    for flush in flushes:
        try:
            flush.run()
            errors.append(None)
        except OSError as e:
            errors.append(e)
    return errors


def run_side_by_side(flushes: Sequence[Flush]) -> None:
    """Sync many logs at once: the file system then commits for all who wait, instead of once for each."""
    with ThreadPoolExecutor(max_workers=16) as workers:
        for _ in workers.map(Flush.run, flushes):
            pass
