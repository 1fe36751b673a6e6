"""A command line, run in this process with a stdout of any kind."""

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TextIO, cast

from cli.commands import Answer
from klamm.cli.app import main


class Stdout(StrEnum):
    PIPE = "pipe"
    TERMINAL = "terminal"
    FULL = "full"
    CLOSED = "closed"


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def run(words: Sequence[str], stdout: Stdout, *, stdin: bytes = b"") -> Answer:
    """What is no ending of a command but a mistake comes out of here as the exception that it is."""
    kept = io.BytesIO()
    errors = io.StringIO()
    with _stream(stdout, kept) as out, _swapped(io.BytesIO(stdin), out, errors):
        code = main(words)
        if sys.stdout is not None:
            sys.stdout.flush()
    return Answer(code, kept.getvalue(), errors.getvalue())


@contextmanager
def _stream(kind: Stdout, kept: io.BytesIO) -> Iterator[TextIO | None]:
    match kind:
        case Stdout.PIPE | Stdout.TERMINAL:
            shape = _Terminal if kind is Stdout.TERMINAL else io.TextIOWrapper
            out = shape(kept, encoding="utf-8", write_through=True)
            yield out
            out.detach()
        case Stdout.FULL:
            with open("/dev/full", "w") as full:
                yield full
        case Stdout.CLOSED:
            yield None


@contextmanager
def _swapped(stdin: io.BytesIO, stdout: TextIO | None, stderr: TextIO) -> Iterator[None]:
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(stdin)
    sys.stdout = cast("TextIO", stdout)
    sys.stderr = stderr
    try:
        yield
    finally:
        if stdout is None and sys.stdout is not None:
            sys.stdout.close()
        sys.stdin, sys.stdout, sys.stderr = before
