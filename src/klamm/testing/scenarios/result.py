"""What came of a seed, and of many."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Result:
    seed: int
    plan: object | None
    violations: list[str]
    operations: int = 0
    events: int = 0
    seconds: float = 0.0
    crashes: int = 0
    digest: str = ""
    # What happened and when, for people.
    story: list[tuple[float, str]] = field(default_factory=list)

    @classmethod
    def broken(cls, seed: int, why: str) -> Result:
        """The simulation itself did not come to its end."""
        return cls(seed, None, [why])


@dataclass(slots=True)
class Totals:
    seeds: int = 0
    operations: int = 0
    events: int = 0
    crashes: int = 0
    seconds: float = 0.0
    failed: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        self.seeds += 1
        self.operations += result.operations
        self.events += result.events
        self.crashes += result.crashes
        self.seconds += result.seconds
        if result.violations:
            self.failed.append(result)


@contextmanager
def errors_inside() -> Iterator[list[str]]:
    """Meanwhile no log is shown, and what nodes log as errors is gathered."""
    errors = _Errors()
    logger = logging.getLogger("klamm")
    logger.addHandler(errors)
    level, logger.propagate = logger.level, False
    logger.setLevel(logging.ERROR)
    try:
        yield errors.texts
    finally:
        logger.removeHandler(errors)
        logger.propagate = True
        logger.setLevel(level)


class _Errors(logging.Handler):
    """Whatever the node logs as an error with a traceback is a bug that was turned into an answer."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.texts.append(f"{record.getMessage()}: {record.exc_info[1]!r}")
