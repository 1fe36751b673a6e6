"""A page on which the compilers write Python: lines, indentation, names, and runs of fixed-width fields."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from keyword import kwlist
from struct import Struct


class Page:
    """Source text in the making, with the objects that it refers to by name."""

    def __init__(self, names: dict[str, object], reserved: str) -> None:
        self.names = {**names}
        self._lines: list[str] = []
        self._depth = 0
        self._taken = {*reserved.split(), *kwlist}

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        self.line(opening)
        self._depth += 1
        yield
        self._depth -= 1

    def local(self, wish: str) -> str:
        """A variable name that nobody uses yet."""
        name, number = wish, 1
        while name in self._taken:
            number += 1
            name = f"{wish}_{number}"
        self._taken.add(name)
        return name

    def refer(self, wish: str, thing: object) -> str:
        """A name under which the code reaches an object; always the same name for the same object."""
        name, number = wish, 1
        while name in self.names and self.names[name] is not thing:
            number += 1
            name = f"{wish}_{number}"
        self.names[name] = thing
        return name

    def mark(self) -> int:
        """Where we are, to come back to with `insert`."""
        return len(self._lines)

    def insert(self, mark: int, text: str) -> None:
        self._lines.insert(mark, "    " * self._depth + text)

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


_structs: dict[str, Struct] = {}


def packed(codes: str) -> Struct:
    """One Struct per layout, shared by all messages: the same runs of fields come again and again."""
    known = _structs.get(codes)
    if known is None:
        known = _structs[codes] = Struct(">" + codes)
    return known


# Lists of numbers are mostly short: replicas, partitions. Up to this length their Structs are made once.
SHORT = 8


def short_structs(codes: str, element: str) -> list[Struct]:
    """Structs for `codes` followed by 0 to SHORT - 1 elements, to be picked by count."""
    return [packed(f"{codes}{count}{element}") for count in range(SHORT)]
