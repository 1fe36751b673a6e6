"""A planted bug: one or two functions of the product, replaced for a while. The simulation must find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

MUTANTS: dict[str, Mutant] = {}


class Patch:
    """Replaces attributes of classes and modules, and puts them back."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> Any:
        """Returns what was there."""
        before = vars(owner)[name]
        self._before.append((owner, name, before))
        setattr(owner, name, value)
        return before

    def undo(self) -> None:
        while self._before:
            setattr(*self._before.pop())


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    # What a node with it does.
    says: str
    plant: Callable[[Patch], None]


def mutant(function: Callable[[Patch], None]) -> Callable[[Patch], None]:
    """Its name is the function's, what it breaks is in the docstring."""
    assert function.__doc__ is not None
    name = function.__name__
    MUTANTS[name] = Mutant(name, function.__doc__.strip(), function)
    return function


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Meanwhile all nodes of this process have the bug."""
    patch = Patch()
    try:
        MUTANTS[name].plant(patch)
        yield
    finally:
        patch.undo()
