"""Reads Java's properties format, in which every server.properties is written.

The grammar is that of java.util.Properties: `#` and `!` begin comments, a key ends at the first `=`, `:` or blank that
no backslash guards, a line that ends in an odd number of backslashes goes on in the next one.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_BLANKS = " \t\f"
_BREAK = re.compile(r"\r\n|\r|\n")
# Up to the first separator that is not guarded by a backslash.
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.|$)", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Entry(NamedTuple):
    name: str
    text: str
    line: int


def read_properties(text: str) -> Iterator[Entry]:
    """What the file sets, in its order. A ValueError names the line that makes no sense."""
    for number, line in _logical_lines(text):
        key = _KEY.match(line)
        assert key is not None
        separator = _SEPARATOR.match(line, key.end())
        assert separator is not None
        yield Entry(_unescape(key[0], number), _unescape(line[separator.end() :], number), number)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines put together from continued ones, without comments and empty lines, each with its first line's number."""
    whole, first = "", 0
    for number, natural in enumerate(_BREAK.split(text), start=1):
        line = natural.lstrip(_BLANKS)
        if not whole:
            if line.startswith(("#", "!")):
                continue
            first = number
        if _goes_on(line):
            whole += line[:-1]
            continue
        if whole + line:
            yield first, whole + line
        whole = ""
    if whole:
        yield first, whole


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str, line: int) -> str:
    def plain(match: re.Match[str]) -> str:
        escaped = match[1]
        if len(escaped) == 5:
            return chr(int(escaped[1:], 16))
        if escaped == "u":
            raise ValueError(f"line {line}: \\u must be followed by four hexadecimal digits")
        return _CONTROL.get(escaped, escaped)

    return _ESCAPE.sub(plain, text) if "\\" in text else text
