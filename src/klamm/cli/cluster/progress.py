"""ProgressLine: one line on stderr that is written over again and again. Where no terminal is, nothing is written."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from types import TracebackType
from typing import Self

_CLEAR_LINE = "\r\x1b[K"
_BAR_CELLS = 30


class ProgressLine:
    """Gone when it is left, so that the answer stands alone."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._write("")

    def say(self, text: str) -> None:
        self._write(text[: max(10, shutil.get_terminal_size().columns - 1)])

    def count(self, done: int, total: int, what: str) -> None:
        self.say(bar(done, total, what))

    def _write(self, text: str) -> None:
        if not self._is_terminal:
            return
        with suppress(OSError):
            sys.stderr.write(_CLEAR_LINE + text)
            sys.stderr.flush()


def bar(done: int, total: int, what: str) -> str:
    full = _BAR_CELLS * done // total if total else _BAR_CELLS
    return f"[{'#' * full}{'.' * (_BAR_CELLS - full)}] {done} of {total} {what}"
