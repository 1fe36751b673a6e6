"""What is wrong in a pipeline file: each problem says where, what was expected, what was found and what is near."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the text, counted from 1 as editors do."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to put right."""

    path: str
    expected: str
    found: str
    nearest: str | None = None
    mark: Mark | None = None

    def __str__(self) -> str:
        where = f"{self.mark.line}:{self.mark.column}: " if self.mark else ""
        key = f"{self.path}: " if self.path else ""
        hint = f" (did you mean {self.nearest}?)" if self.nearest else ""
        return f"{where}{key}expected {self.expected}, found {self.found}{hint}"


class BadPipeline(Exception):
    """The pipeline cannot be run as it is written. Carries every problem, in the order of the text."""

    def __init__(self, source_name: str, problems: Iterable[Problem]) -> None:
        self.source_name = source_name
        self.problems = tuple(sorted(problems, key=_position))
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """One line per problem, in the form `file:line:column: key: what` that editors can follow."""
        return [
            f"{self.source_name}:{'' if problem.mark else ' '}{problem}"
            for problem in self.problems
        ]


def show_path(path: Path) -> str:
    """`sinks[0].delivery`: the way to a key as people write it."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that a person who typed `word` most likely meant, if any is near."""
    by_plain = {_plain(choice): choice for choice in choices}
    # Longer words than any key are no misspelling, and comparing them would take long.
    if len(word) > 60:
        return None
    close = get_close_matches(_plain(word), by_plain, n=1, cutoff=0.66)
    return by_plain[close[0]] if close else None


def one_of(words: Sequence[str]) -> str:
    """`a, b or c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _plain(word: str) -> str:
    return word.lower().replace("-", "_").replace(" ", "_")


def _position(problem: Problem) -> tuple[int, int]:
    return (problem.mark.line, problem.mark.column) if problem.mark else (0, 0)
