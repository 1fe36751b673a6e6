"""What the commands say: answers on stdout, notices and complaints on stderr.

May not know Kafka. Imports rich only when a table is really drawn, because `klamm serve` comes through here too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from io import StringIO, TextIOWrapper
from typing import Literal, TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Row: TypeAlias = Mapping[str, Json]

# A table in a pipe is for grep and less: never fold a row there.
_PIPE_WIDTH = 10_000


class Format(StrEnum):
    JSON = "json"
    TABLE = "table"


class CommandError(Exception):
    """The command was understood but could not be done: what, why, and what to try."""

    def __init__(self, what: str, *, why: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.hint = hint


class UsageError(CommandError):
    """The command was not understood."""


class ReaderGone(Exception):
    """Nobody reads our stdout any more, as in `klamm consume ... | head`.

    Not a BrokenPipeError: typer would catch that and call it a failure.
    """


def complain(failure: CommandError) -> None:
    notice(f"klamm: {failure.what}" + (f": {failure.why}" if failure.why else ""))
    if failure.hint:
        notice(f"  try: {failure.hint}")


def notice(text: str) -> None:
    # Where stderr takes no more there is nobody left to tell.
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def write(data: bytes) -> None:
    """Raw bytes to stdout: record values need not be text."""
    with _told_if_stdout_fails():
        sys.stdout.buffer.write(data)


def flush() -> None:
    with _told_if_stdout_fails():
        sys.stdout.flush()


@contextmanager
def _told_if_stdout_fails() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGone from error
    except OSError as error:
        raise CommandError("the answer cannot be written", why=reason(error)) from error


def reason(error: OSError) -> str:
    """In words, and of which file, where the error knows."""
    text = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {text}" if error.filename else text


def format_or_default(wanted: Format | None) -> Format:
    return wanted or (Format.TABLE if sys.stdout.isatty() else Format.JSON)


def show(rows: Iterable[Row], wanted: Format | None = None, *, title: str = "") -> None:
    if format_or_default(wanted) is Format.JSON:
        for row in rows:
            write(json_line(row))
        flush()
    else:
        draw_table(list(rows), title=title)


def json_line(row: Row) -> bytes:
    return encoded(json.dumps(row, ensure_ascii=False, separators=(",", ":"))) + b"\n"


def encoded(text: str) -> bytes:
    """The path of a file need not be text in UTF-8; what is none of it is escaped, which in JSON is right as well."""
    return text.encode(errors="backslashreplace")


def draw_table(rows: Sequence[Row], *, title: str = "") -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name) for name in names] for row in rows]
    draw_columns([name.replace("_", " ") for name in names], cells, cell=cell, title=title)


def draw_columns(
    names: Sequence[str],
    rows: Sequence[Sequence[Json]],
    *,
    cell: Callable[[Json], str],
    title: str = "",
) -> None:
    """Under these names as they are. `cell` says how a value looks."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_terminal = sys.stdout.isatty()
    page = StringIO()
    width = shutil.get_terminal_size().columns if is_terminal else _PIPE_WIDTH
    console = Console(file=page, width=width, force_terminal=is_terminal)
    if title:
        console.print(Text(title, style="bold"))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for index, name in enumerate(names):
        is_number = any(isinstance(row[index], int | float) for row in rows)
        justify: Literal["left", "right"] = "right" if is_number else "left"
        # Text, not str: a name or a value with [brackets] is not markup.
        table.add_column(Text(name), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(value)) for value in row))
    console.print(table if names else Text("(nothing)", style="dim"))
    write(encoded(page.getvalue()))
    flush()


def cell(value: Json) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case Mapping():
            return " ".join(f"{key}={cell(item)}" for key, item in value.items())
        case Sequence():
            return ", ".join(cell(item) for item in value)
        case _:
            return str(value)


def prepare_streams() -> None:
    """Who closes one of them (`klamm topic list >&-`) does not want to hear from us, and that is no error.

    Python has None in its place, and the next file or socket that is opened would get its number.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, which is this one.
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    # As stderr does: a letter that the terminal does not know is no reason to end.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def drop_unwritten() -> None:
    """Python flushes stdout once more at exit: point it where that cannot fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def unescape(text: str) -> bytes:
    """Backslash escapes as in C (\\n, \\t, \\0, \\x1f), for separators and formats given on the command line."""
    return _ESCAPE.sub(_unescaped, text.encode())


_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}


def _unescaped(match: re.Match[bytes]) -> bytes:
    body = match[1]
    return bytes([int(body[1:], 16)]) if len(body) == 3 else _ESCAPED.get(body, match[0])
