"""Workers without threads: what they do is a step of the simulated loop, some time after it was asked for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, ParamSpec, TypeVar

from klamm.log.disk import Disk
from klamm.server.world.compaction import CompactionHere, PaceTime
from klamm.testing.loop import SimulatedLoop

Parameters = ParamSpec("Parameters")
T = TypeVar("T")
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class SimulatedWorker:
    """A job has its effect at some moment, and is known to be done at a later one: a crash may come in between."""

    def __init__(self, workers: SimulatedWorkers) -> None:
        self._workers = workers
        self._loop = workers.loop
        self._waiting: deque[_Job] = deque()
        self._is_busy = False
        self._idle: asyncio.Event = asyncio.Event()

    async def run(
        self, work: Callable[Parameters, T], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> T:
        done: asyncio.Future[T] = self._loop.create_future()
        self._waiting.append((partial(work, *args, **kwargs), done))
        if not self._is_busy:
            self._begin()
        return await done

    def run_now(self, work: Callable[[], T]) -> T:
        while self._waiting:
            job, done = self._waiting.popleft()
            _tell(done, *_outcome(job))
        return work()

    async def close(self) -> None:
        while self._waiting or self._is_busy:
            self._idle.clear()
            await self._idle.wait()

    def _begin(self) -> None:
        self._is_busy = True
        self._loop.call_later(self._workers.delay(), self._do)

    def _do(self) -> None:
        if not self._waiting:
            self._end(None, None, None)
            return
        job, done = self._waiting.popleft()
        result, error = _outcome(job)
        seconds = self._workers.delay() + self._workers.take_sleep()
        self._loop.call_later(seconds, self._end, done, result, error)

    def _end(self, done: asyncio.Future[Any] | None, result: Any, error: Exception | None) -> None:
        if done is not None:
            _tell(done, result, error)
        self._is_busy = False
        if self._waiting:
            self._begin()
        else:
            self._idle.set()


class SimulatedWorkers:
    """See server.world.ports.Workers."""

    def __init__(self, loop: SimulatedLoop, rng: Random) -> None:
        self.loop = loop
        self._rng = rng
        # About how long it takes until a job begins, and until it is known to be done.
        self.seconds = 0.001
        self._slept = 0.0

    def worker(self, name: str) -> SimulatedWorker:
        return SimulatedWorker(self)

    async def run(
        self, work: Callable[Parameters, T], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> T:
        return await SimulatedWorker(self).run(work, *args, **kwargs)

    def side_by_side(self, works: Sequence[Callable[[], None]]) -> None:
        for work in works:
            work()

    def compaction(self, disk: Disk) -> CompactionHere:
        return CompactionHere(disk, PaceTime(self._now, self._sleep))

    def delay(self) -> float:
        return self._rng.random() * self.seconds

    def take_sleep(self) -> float:
        """How long the job that has just run would have slept."""
        slept, self._slept = self._slept, 0.0
        return slept

    def _now(self) -> float:
        return self.loop.time() + self._slept

    def _sleep(self, seconds: float) -> None:
        self._slept += seconds


class SimulatedTurns:
    """See server.world.ports.Turns: a turn is so many steps, however fast the machine is."""

    seconds = 0.005

    def __init__(self, loop: SimulatedLoop, rng: Random) -> None:
        self.time = loop.time
        self._rng = rng

    def begin(self) -> SimulatedTurn:
        return SimulatedTurn(self._rng.randint(1, 50))


class SimulatedTurn:
    __slots__ = ("_left",)

    def __init__(self, steps: int) -> None:
        self._left = steps

    def is_over(self) -> bool:
        self._left -= 1
        return self._left < 0


def _outcome(job: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return job(), None
    except Exception as e:  # noqa: BLE001 - it is told to the one who asked
        return None, e


def _tell(done: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)
