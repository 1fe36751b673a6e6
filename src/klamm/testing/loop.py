"""An event loop without a world: when nothing is left to do, its clock jumps to the next timer.

Code that waits by asyncio alone (tasks, futures, timeouts, locks) runs on it unchanged. What runs belongs to an
Incarnation: a process that may die. Of a dead one nothing runs any more, not even a `finally:`, as after kill -9: a
cancelled task would have the time to clean up.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")
_CURRENT: ContextVar[Incarnation | None] = ContextVar("incarnation", default=None)

_CLOSED_BY_THEN = 50


class Deadlock(Exception):
    """Nothing to do, no timer, and the work is not done."""


class Crashed(BaseException):
    """Raised in the middle of a process that has just died, to get out of it. Nobody catches it."""


class Incarnation:
    """One life of a process."""

    __slots__ = ("context", "held", "is_dead", "is_paused", "name", "tasks")

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dead = False
        self.is_paused = False
        # What would have run while it was paused.
        self.held: list[asyncio.Handle] = []
        # Kept when it is dead: the garbage collector would throw GeneratorExit into them.
        self.tasks: dict[asyncio.Task[Any], None] = {}
        self.context = copy_context()
        self.context.run(_CURRENT.set, self)

    def __repr__(self) -> str:
        return f"<{self.name}{' (dead)' if self.is_dead else ''}>"


def current_incarnation() -> Incarnation | None:
    return _CURRENT.get()


def _may_run(handle: asyncio.Handle, context: Context) -> bool:
    incarnation = context.get(_CURRENT)
    if incarnation is None:
        return True
    if incarnation.is_paused and not incarnation.is_dead:
        incarnation.held.append(handle)
        return False
    return not incarnation.is_dead


class _Handle(asyncio.Handle):
    __slots__ = ()
    _loop: SimulatedLoop
    _context: Context

    def _run(self) -> None:
        if _may_run(self, self._context):
            self._loop.events += 1
            super()._run()


class _TimerHandle(asyncio.TimerHandle):
    __slots__ = ()
    _loop: SimulatedLoop
    _context: Context
    _scheduled: bool

    def _run(self) -> None:
        if _may_run(self, self._context):
            self._loop.events += 1
            super()._run()


class SimulatedLoop(asyncio.BaseEventLoop):
    _ready: Any
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._selector = self
        # Two timers that are further apart than this are not run in one go.
        self._clock_resolution = 1e-9
        self.events = 0
        # What went wrong and was nobody's to handle. A simulation with anything here has failed.
        self.complaints: list[str] = []
        self._dead: list[Incarnation] = []
        self.set_task_factory(self._make_task)
        self.set_exception_handler(self._complain)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run until the work is done, then bury everything else."""
        try:
            return self.run_until_complete(work)
        finally:
            self._bury(self._dead)
            self.close()

    def spawn(self, incarnation: Incarnation, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """In that process."""
        return self.create_task(work, context=incarnation.context.copy())

    def kill(self, incarnation: Incarnation) -> None:
        if not incarnation.is_dead:
            incarnation.is_dead = True
            self._dead.append(incarnation)

    def pause(self, incarnation: Incarnation) -> None:
        """As SIGSTOP: the process does nothing, and does not know it."""
        incarnation.is_paused = True

    def resume(self, incarnation: Incarnation) -> None:
        incarnation.is_paused = False
        held, incarnation.held = incarnation.held, []
        self._ready.extend(held)

    # What BaseEventLoop asks of its parts ------------------------------------------------------

    def time(self) -> float:
        return self._now

    def select(self, timeout: float | None) -> tuple[()]:
        if timeout is None:
            raise Deadlock("nothing to do and no timer")
        if timeout > 0:
            self._now = max(self._now, self._scheduled[0].when())
        return ()

    def _process_events(self, event_list: object) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody else runs who could wake it."""

    def close(self) -> None:
        self._selector = None  # type: ignore[assignment]
        super().close()

    def _call_soon(
        self, callback: Callable[..., object], args: Any, context: Context | None
    ) -> asyncio.Handle:
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        timer = _TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True
        return timer

    # Tasks -------------------------------------------------------------------------------------

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, work: Any, context: Context | None = None
    ) -> asyncio.Task[Any]:
        context = copy_context() if context is None else context
        task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, context=context)
        incarnation = context.get(_CURRENT)
        if incarnation is not None:
            incarnation.tasks[task] = None
            task.add_done_callback(incarnation.tasks.pop, context=Context())
        return task

    def _complain(self, loop: asyncio.AbstractEventLoop, what: dict[str, Any]) -> None:
        error = what.get("exception")
        if not isinstance(error, Crashed):
            self.complaints.append(f"{what.get('message')}: {error!r}")

    def _bury(self, dead: list[Incarnation]) -> None:
        """What they left is closed here, while nothing runs any more, and not by the garbage collector at any time."""
        everybody = asyncio.all_tasks(self)
        for task in [*(task for each in dead for task in each.tasks), *everybody]:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine: Any = task.get_coro()
            # What waits again while it is closed, as a cleanup does, is closed again.
            for _ in range(_CLOSED_BY_THEN):
                if coroutine is None or coroutine.cr_frame is None:
                    break
                with suppress(BaseException):
                    coroutine.close()
