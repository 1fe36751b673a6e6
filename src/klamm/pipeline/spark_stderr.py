"""What Spark's JVM and the Python workers behind it print on stderr, without what nobody can act on.

Java greets with a warning about a module that Spark asks for; a worker whose task was broken off complains about its
closed connection, with addresses of objects; the one that prepares a step with state tells how far it is. What broke
off, and why, is told by the run itself.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NOISE = re.compile(r"WARNING: Using incubator modules: |(NOTE: )?Picked up \w*JAVA_?\w*OPTIONS: ")
# What a step with state begins with; an empty line follows each.
_STATE = re.compile(r"(Starting )?Streaming TransformWithStateInPandas Python worker\b")
# Tracebacks follow. The first two tell of a failure that the task itself reports.
_ALWAYS_DROPPED = (
    "PySpark worker failed with exception:",
    "PySpark daemon failed to flush the output to the worker process:",
)
_IGNORED = "Exception ignored in: <"
_CLOSED = ("BrokenPipeError", "ConnectionResetError", "ConnectionAbortedError")
_IN_TRACEBACK = (" ", "Traceback (most recent call last):")
_AND_ANOTHER = ("During handling of the above exception", "The above exception was the direct")
_ERROR = re.compile(r"[A-Za-z_][\w.]*(: .*)?$")


class Strainer:
    """Lines in, lines out. A traceback is held back until it is known whose it is."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self._has_error = False
        self._drops_empty = False

    def take(self, line: str) -> Iterator[str]:
        drops_empty, self._drops_empty = self._drops_empty, bool(_STATE.match(line))
        if self._drops_empty or (drops_empty and line == "\n"):
            return
        if self._held and self._goes_on(line):
            self._held.append(line)
            return
        yield from self.rest()
        if line.startswith((*_ALWAYS_DROPPED, _IGNORED)):
            self._held = [line]
        elif not _NOISE.match(line):
            yield line

    def rest(self) -> Iterator[str]:
        """What is held back, if it is worth it: nothing more will come to it."""
        held, self._held, self._has_error = self._held, [], False
        if held and not held[0].startswith(_ALWAYS_DROPPED):
            errors = [line for line in held[1:] if not line.startswith(" ")]
            if not any(line.startswith(_CLOSED) for line in errors):
                yield from held

    def _goes_on(self, line: str) -> bool:
        """Frames, then the error; then perhaps another traceback."""
        text = line.rstrip("\n")
        if self._has_error:
            self._has_error = not text.startswith(_AND_ANOTHER)
            return not text or not self._has_error
        self._has_error = bool(_ERROR.match(text))
        return self._has_error or not text or text.startswith(_IN_TRACEBACK)


@contextmanager
def strained_stderr() -> Iterator[None]:
    """Processes that are started inside have a stderr that is read here, line by line, for as long as they live."""
    try:
        own = os.dup(2)
    except OSError:  # closed: there is nowhere to print to
        yield
        return
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    thread = threading.Thread(target=_pump, args=(reading, own), name="spark-stderr", daemon=True)
    thread.start()
    try:
        yield
    finally:
        # From here on only those processes hold the pipe's other end.
        os.dup2(own, 2)


def _pump(reading: int, own: int) -> None:
    strainer = Strainer()
    # Whatever bytes come: they are shown as they are.
    with open(reading, encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        for line in lines:
            for kept in strainer.take(line):
                _show(kept, own)
        for kept in strainer.rest():
            _show(kept, own)
    os.close(own)


def _show(line: str, own: int) -> None:
    if os.isatty(own) and sys.stderr is not None:
        # A view that is redrawn in place has taken stderr over, and puts the line above itself.
        with suppress(OSError, ValueError):
            sys.stderr.write(line)
            return
    with suppress(OSError):
        os.write(own, line.encode("utf-8", "surrogateescape"))
