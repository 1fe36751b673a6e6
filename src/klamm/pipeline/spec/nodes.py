"""The file before it means anything: scalars, lists and mappings, each with its place in the text.

Plain Python values become the same nodes without places, so that files and code are read by one reader.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from klamm.pipeline.spec.problems import BadPipeline, Mark, Path, Problem, show_path

# A pipeline is a page of text. Deeper or larger ones are accidents (or aliases that contain themselves).
MAX_DEPTH = 40
MAX_NODES = 50_000

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value; `text` is how it was written, so that a topic called 007 stays 007."""

    value: str | int | float | bool | None
    text: str
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    nodes: tuple["Node", ...]
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Entries:
    """A mapping, in the order of the text."""

    pairs: tuple[tuple[Scalar, "Node"], ...]
    mark: Mark | None = None

    def names(self) -> list[str]:
        return [key.text for key, _ in self.pairs]


Node = Scalar | Items | Entries


def describe(node: Node) -> str:
    """What was found, short enough for one line."""
    if isinstance(node, Items):
        return "a list" if node.nodes else "an empty list"
    if isinstance(node, Entries):
        return "a mapping" if node.pairs else "an empty mapping"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, str):
        return quoted(node.value)
    return node.text


def quoted(text: str) -> str:
    """The text in quotes on one line, cut where it gets long."""
    shown = text if len(text) <= 60 else text[:57] + "..."
    return '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown) + '"'


def from_plain(value: object, source_name: str) -> Node:
    """Nodes of plain Python values: dicts, lists, tuples, text, numbers, booleans and None."""
    return _PlainReader(source_name).node(value, ())


class _PlainReader:
    def __init__(self, source_name: str) -> None:
        self.source_name = source_name
        self.count = 0

    def node(self, value: object, path: Path) -> Node:
        self.count += 1
        if len(path) > MAX_DEPTH or self.count > MAX_NODES:
            raise self.bad(path[:4], "values nested a few levels deep", "far more")
        if value is None:
            return Scalar(None, "")
        if isinstance(value, bool):
            return Scalar(value, str(value).lower())
        if isinstance(value, str | int | float):
            # str(...) takes enums for the words they are.
            return Scalar(str(value) if isinstance(value, str) else value, str(value))
        if isinstance(value, Mapping):
            pairs = [
                (Scalar(str(k), str(k)), self.node(v, (*path, str(k)))) for k, v in value.items()
            ]
            return Entries(tuple(pairs))
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
            return Items(tuple(self.node(v, (*path, i)) for i, v in enumerate(value)))
        raise self.bad(
            path, "text, a number, true or false, a list or a mapping", type(value).__name__
        )

    def bad(self, path: Path, expected: str, found: str) -> BadPipeline:
        problem = Problem(path=show_path(path), expected=expected, found=found)
        return BadPipeline(self.source_name, [problem])
