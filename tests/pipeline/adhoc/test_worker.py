"""The thread behind the shell: what it computes, and how it is stopped."""

import signal
import threading
from collections.abc import Iterator

import pytest

from klamm.cli.sql.worker import Cancelled, Worker

SECONDS = 60.0


@pytest.fixture(autouse=True)
def _ctrl_c_is_pythons() -> Iterator[None]:
    """Spark, where it runs in this process, has a handler of its own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c() -> None:
    """The thread with the keyboard hears it, whichever thread is told to press."""
    assert threading.main_thread().ident is not None
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def test_answer_comes_back_and_so_does_an_error() -> None:
    worker = Worker()

    assert worker.run(lambda: 1 + 1, cancel=lambda: None) == 2
    with pytest.raises(ZeroDivisionError):
        worker.run(lambda: 1 / 0, cancel=lambda: None)


def test_ctrl_c_cancels_until_the_task_has_ended() -> None:
    worker = Worker()
    cancels = threading.Semaphore(0)

    def task() -> None:
        press_ctrl_c()
        # The first is too early for what it would cancel.
        assert cancels.acquire(timeout=SECONDS)
        assert cancels.acquire(timeout=SECONDS)

    with pytest.raises(Cancelled):
        worker.run(task, cancel=cancels.release)

    assert worker.run(lambda: "next", cancel=lambda: None) == "next"


def test_ctrl_c_takes_back_what_has_not_begun() -> None:
    worker = Worker()
    ready, end = threading.Event(), threading.Event()

    def first() -> None:
        ready.wait(SECONDS)
        press_ctrl_c()
        end.wait(SECONDS)

    worker.submit(first)
    with pytest.raises(Cancelled):
        ready.set()
        worker.run(lambda: pytest.fail("nobody wants it any more"), cancel=lambda: None)
    end.set()

    assert worker.run(lambda: "next", cancel=lambda: None) == "next"
