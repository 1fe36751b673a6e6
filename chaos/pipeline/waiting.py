"""Waiting for something that another process does in its own time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_POLL_SECONDS = 0.2


class TooLate(Exception):
    """It did not happen; the message says what, and what was seen instead."""


def until(
    attempt: Callable[[], T | None],
    what: str,
    *,
    seconds: float,
    seen: Callable[[], str] = lambda: "",
    every: float = _POLL_SECONDS,
) -> T:
    """The first result that is true. Looking takes a processor that others need: `every` is short only for moments."""
    deadline = time.monotonic() + seconds
    while True:
        if found := attempt():
            return found
        if time.monotonic() > deadline:
            raise TooLate(f"not within {seconds:.0f} s: {what}\n{seen()}")
        time.sleep(every)
