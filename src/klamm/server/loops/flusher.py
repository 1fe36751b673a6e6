"""fsync, never on the loop: one worker thread, and one round of it for everybody who came while the last was running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from klamm.log.flush import Flush
from klamm.log.log import Log
from klamm.server.world.ports import Workers

# Called with the logs whose sync failed: what they hold may not be acknowledged.
Callback = Callable[[frozenset[Log]], None]
OnFailure = Callable[[Log, OSError], None]

# Of each who wants logs synced, so many in one round: who waits for one log does not wait for thousands that the clock
# wants synced, the loop plans no longer than a millisecond or two, and few files are open at a time.
_PORTION = 32


@dataclass(slots=True, eq=False)
class _Wish:
    # Those that are still to be synced.
    logs: list[Log]
    then: Callback | None
    failed: set[Log] = field(default_factory=set)

    def take(self) -> list[Log]:
        part, self.logs = self.logs[:_PORTION], self.logs[_PORTION:]
        return part


class Flusher:
    """`on_failure` hears of a failed fsync. It is final: what the kernel dropped cannot be asked for again."""

    def __init__(self, workers: Workers, on_failure: OnFailure) -> None:
        self._worker = workers.worker("klamm-fsync")
        self._on_failure = on_failure
        self._wishes: list[_Wish] = []
        self._rounds: asyncio.Task[None] | None = None

    def flush(self, logs: Iterable[Log], then: Callback | None = None) -> None:
        """Write all that these logs hold now to the disk, then call back, on the loop."""
        self._wishes.append(_Wish(list(logs), then))
        if self._rounds is None:
            self._rounds = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        if self._rounds is not None:
            await self._rounds
        await self._worker.close()

    async def _run(self) -> None:
        while self._wishes:
            wishes, self._wishes = self._wishes, []
            parts = [wish.take() for wish in wishes]
            failed = await self._flush(dict.fromkeys(log for part in parts for log in part))
            for wish, part in zip(wishes, parts, strict=True):
                wish.failed.update(failed.intersection(part))
                if wish.logs:
                    self._wishes.append(wish)
                elif wish.then is not None:
                    wish.then(frozenset(wish.failed))
        self._rounds = None

    async def _flush(self, logs: Iterable[Log]) -> set[Log]:
        """One round; returns the logs whose sync failed."""
        flushes, failed = [], {}
        for log in logs:
            try:
                flush = log.begin_flush()
            except OSError as e:
                failed[log] = e
                continue
            if flush is not None:
                flushes.append((log, flush))
        errors = await self._worker.run(_sync, [each for _, each in flushes])
        for (log, flush), error in zip(flushes, errors, strict=True):
            if error is None:
                log.end_flush(flush)
            else:
                failed[log] = error
        for log, error in failed.items():
            self._on_failure(log, error)
        return set(failed)


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
