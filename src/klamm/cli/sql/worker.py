"""One thread that does the work, so that the one with the keyboard stays free to stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_AGAIN_SECONDS = 0.5


class Cancelled(Exception):
    """The user did not want to wait any longer."""


class Worker:
    """Not an executor: Python would wait for its thread at the end, and Spark may just be starting."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        threading.Thread(target=self._work, name="sql", daemon=True).start()

    def submit(self, task: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        self._tasks.put((future, task))
        return future

    def run(self, task: Callable[[], T], *, cancel: Callable[[], None]) -> T:
        """Waits. With Ctrl-C it calls `cancel` until the task has ended, and raises Cancelled."""
        future = self.submit(task)
        try:
            return _result(future)
        except KeyboardInterrupt:
            _end(future, cancel)
            raise Cancelled from None

    def _work(self) -> None:
        while True:
            future, task = self._tasks.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(task())
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                future.set_exception(error)


def _result(future: Future[T]) -> T:
    """Looks up now and then: a signal that comes just before the wait begins does not end it."""
    while True:
        try:
            return future.result(timeout=_AGAIN_SECONDS)
        except TimeoutError:
            if future.done():
                return future.result()


def _end(future: Future[Any], cancel: Callable[[], None]) -> None:
    """A task that has just begun may not have anything yet that could be cancelled: so more than once."""
    while not future.cancel() and not future.done():
        cancel()
        try:
            future.exception(timeout=_AGAIN_SECONDS)
        except TimeoutError:
            continue
