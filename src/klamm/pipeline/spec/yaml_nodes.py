"""YAML text to nodes with their places. PyYAML finds the structure; what a plain word means is decided here.

Plain words are read as YAML 1.2 reads them: only `true` and `false` are booleans (a topic may be called `on`), and
`10:30` is text, not a number of base 60. Tags are refused: a pipeline file can name no Python object.
"""

import math
import re
from typing import Any

import yaml

from klamm.pipeline.spec.nodes import MAX_DEPTH, MAX_NODES, Entries, Items, Node, Scalar, quoted
from klamm.pipeline.spec.problems import BadPipeline, Mark, Problem

_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_KNOWN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map")}


def read_yaml(text: str, source_name: str) -> Node:
    """The nodes of one YAML document. Raises BadPipeline if it is none."""
    try:
        root = yaml.compose(text, Loader=_structure_loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # Times begin with @, which YAML keeps for itself: the likeliest slip of all.
        if unquoted := re.fullmatch(
            "found character '([@`%])' that cannot .*", error.problem or ""
        ):
            expected = f"quotes around a value that begins with {unquoted[1]}"
            raise _bad(source_name, expected, "none", mark) from None
        found = ", ".join(part for part in (error.context, error.problem) if part)
        raise _bad(source_name, "YAML", found, mark) from None
    except yaml.YAMLError as error:
        raise _bad(source_name, "YAML", " ".join(str(error).split()), None) from None
    except (ValueError, OverflowError) as error:  # such as an escape beyond Unicode
        raise _bad(source_name, "YAML", str(error), None) from None
    except RecursionError:
        raise _bad(source_name, "values nested a few levels deep", "far more", None) from None
    if root is None:
        raise _bad(source_name, "a mapping with the keys of a pipeline", "nothing", None)
    return _Converter(source_name).node(root, depth=0)


def _structure_loader() -> type:
    """A loader that leaves every plain scalar a string: meaning is not its business."""
    return type("StructureLoader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": {}})


class _Converter:
    """PyYAML's nodes to ours; collects nothing, stops at what cannot be a pipeline file at all."""

    def __init__(self, source_name: str) -> None:
        self.source_name = source_name
        self.count = 0

    def node(self, found: Any, *, depth: int) -> Node:
        self.count += 1
        if depth > MAX_DEPTH or self.count > MAX_NODES:
            raise self.bad("values nested a few levels deep", "far more", found)
        if found.tag not in _KNOWN_TAGS:
            raise self.bad("a value without a tag", quoted(found.tag), found)
        mark = _mark(found.start_mark)
        if found.id == "mapping":
            pairs = [(self.key(k), self.node(v, depth=depth + 1)) for k, v in found.value]
            return Entries(tuple(pairs), mark)
        if found.id == "sequence":
            return Items(tuple(self.node(v, depth=depth + 1) for v in found.value), mark)
        value = plain_value(found.value) if found.style is None else found.value
        return Scalar(value, found.value, mark)

    def key(self, found: Any) -> Scalar:
        if found.id != "scalar":
            raise self.bad("a word as key", "a list or a mapping", found)
        return Scalar(found.value, found.value, _mark(found.start_mark))

    def bad(self, expected: str, found: str, node: Any) -> BadPipeline:
        return _bad(self.source_name, expected, found, node.start_mark)


def plain_value(text: str) -> str | int | float | bool | None:
    """What an unquoted word means."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


def _mark(mark: Any) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)


def _bad(source_name: str, expected: str, found: str, mark: Any) -> BadPipeline:
    place = _mark(mark) if mark else None
    return BadPipeline(source_name, [Problem(path="", expected=expected, found=found, mark=place)])
