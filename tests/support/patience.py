"""Waiting for something that another process does in its own time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(
    attempt: Callable[[], T], *, seconds: float = 20, failures: type[Exception] = AssertionError
) -> T:
    """Repeats the attempt until it no longer fails, and gives its result; the last failure is shown."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except failures:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.02)
