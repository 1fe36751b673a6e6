"""The kinds of values a key may hold. Each reads a node, writes it back, and describes itself."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from klamm.pipeline.spec.nodes import Entries, Items, Node, Plain, Scalar, describe
from klamm.pipeline.spec.problems import Mark, Path, Problem, nearest, one_of, show_path

JsonSchema = dict[str, object]


class Bad:
    """Stands for a value that could not be read; the problem is noted."""


BAD = Bad()


@dataclass(slots=True)
class Reading:
    """One pass over a file: what was wrong, and where each key and section stood."""

    problems: list[Problem] = field(default_factory=list)
    marks: dict[Path, Mark | None] = field(default_factory=dict)
    bad_paths: set[Path] = field(default_factory=set)
    # By identity: sections are facts and may be equal. The sections themselves are kept, so that ids stay theirs.
    sections: dict[int, tuple[object, Path]] = field(default_factory=dict)

    def wrong(self, path: Path, node: Node, expected: str, near: str | None = None) -> Bad:
        return self.note(path, node.mark, expected=expected, found=describe(node), near=near)

    def note(
        self, path: Path, mark: Mark | None, *, expected: str, found: str, near: str | None = None
    ) -> Bad:
        self.problems.append(
            Problem(path=show_path(path), expected=expected, found=found, nearest=near, mark=mark)
        )
        self.bad_paths.add(path)
        return BAD

    def is_bad(self, path: Path) -> bool:
        """Whether something at or below the path could not be read."""
        return any(bad[: len(path)] == path for bad in self.bad_paths)

    def path_of(self, section: object) -> Path:
        return self.sections[id(section)][1]


class Kind(Protocol):
    """What a key may hold."""

    @property
    def words(self) -> str:
        """What is expected, as it stands behind "expected"."""
        ...

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        """The value, or BAD with the problem noted."""
        ...

    def write(self, value: object) -> Plain:
        """What `read` would take for the value. What it does not know it leaves, for `read` to judge."""
        ...

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema: ...


@dataclass(frozen=True, slots=True)
class Text:
    """Text, perhaps of a certain form. A number stands for the text it was written as."""

    words: str = "text"
    form: str | None = None
    check: Callable[[str], str | None] | None = None

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        if not isinstance(node, Scalar) or node.value is None or isinstance(node.value, bool):
            return reading.wrong(path, node, self.words)
        if not node.text.strip():
            return reading.wrong(path, node, self.words)
        if self.form and not re.fullmatch(self.form, node.text):
            return reading.wrong(path, node, self.words)
        if self.check and (expected := self.check(node.text)):
            return reading.wrong(path, node, expected)
        return node.text

    def write(self, value: object) -> Plain:
        return as_plain(value)

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        # A number is taken for the text it was written as; patterns and lengths concern text alone.
        kind: JsonSchema = {"type": ["string", "number"]}
        return {**kind, "pattern": f"^(?:{self.form})$"} if self.form else {**kind, "minLength": 1}


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds."""

    at_least: int = 0
    at_most: int = (1 << 63) - 1

    @property
    def words(self) -> str:
        upper = f" and at most {self.at_most}" if self.at_most < (1 << 31) else ""
        return f"a whole number of at least {self.at_least}{upper}"

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        value = node.value if isinstance(node, Scalar) else None
        if not isinstance(value, int) or isinstance(value, bool):
            return reading.wrong(path, node, self.words)
        return (
            value
            if self.at_least <= value <= self.at_most
            else reading.wrong(path, node, self.words)
        )

    def write(self, value: object) -> Plain:
        return as_plain(value)

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        return {"type": "integer", "minimum": self.at_least, "maximum": self.at_most}


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""

    words: str = "true or false"

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        return reading.wrong(path, node, self.words)

    def write(self, value: object) -> Plain:
        return as_plain(value)

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One word of a few."""

    of: type[StrEnum]

    @property
    def words(self) -> str:
        return one_of([member.value for member in self.of])

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        choices = {member.value: member for member in self.of}
        if isinstance(node, Scalar) and node.text in choices:
            return choices[node.text]
        near = nearest(node.text, choices) if isinstance(node, Scalar) else None
        return reading.wrong(path, node, self.words, near)

    def write(self, value: object) -> Plain:
        return as_plain(value)

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        return {"type": "string", "enum": [member.value for member in self.of]}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list; a single value stands for a list of one where `or_one` says so."""

    item: Kind
    or_one: bool = False

    @property
    def words(self) -> str:
        return (
            f"{self.item.words}, or a list of such"
            if self.or_one
            else f"a list, each item {self.item.words}"
        )

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        if isinstance(node, Scalar) and node.value is None:
            return ()
        if self.or_one and isinstance(node, Scalar):
            value = self.item.read(node, path, reading)
            return BAD if value is BAD else (value,)
        if not isinstance(node, Items):
            return reading.wrong(path, node, self.words)
        values = [self.item.read(each, (*path, i), reading) for i, each in enumerate(node.nodes)]
        return tuple(value for value in values if value is not BAD)

    def write(self, value: object) -> Plain:
        if isinstance(value, tuple | list):
            return [self.item.write(each) for each in value]
        return as_plain(value)

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        item = self.item.json_schema(defs)
        many: JsonSchema = {"type": ["array", "null"], "items": item}
        return {"anyOf": [item, many]} if self.or_one else many


@dataclass(frozen=True, slots=True)
class Options:
    """Names and values that are passed on as they are. Kept as sorted pairs: a fact can be hashed and compared."""

    words: str = "a mapping of names to text, numbers, true or false"

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        if isinstance(node, Scalar) and node.value is None:
            return ()
        if not isinstance(node, Entries):
            return reading.wrong(path, node, self.words)
        pairs: dict[str, str] = {}
        for key, value in node.pairs:
            if not isinstance(value, Scalar) or value.value is None:
                reading.wrong((*path, key.text), value, "text, a number, true or false")
            elif key.text in pairs:
                reading.note(
                    (*path, key.text), key.mark, expected="each name once", found="it twice"
                )
            else:
                pairs[key.text] = value.text
        return tuple(sorted(pairs.items()))

    def write(self, value: object) -> Plain:
        if isinstance(value, Mapping):
            return {str(name): as_plain(text) for name, text in value.items()}
        if isinstance(value, tuple) and all(
            isinstance(pair, tuple) and len(pair) == 2 for pair in value
        ):
            return {str(name): as_plain(text) for name, text in value}
        return as_plain(value)

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        scalar = {"type": ["string", "number", "boolean"]}
        return {"type": ["object", "null"], "additionalProperties": scalar}


def as_plain(value: object) -> Plain:
    """A value that stands for itself. What does not is left for `read` to refuse."""
    if isinstance(value, StrEnum):
        return value.value
    return value  # type: ignore[return-value]
