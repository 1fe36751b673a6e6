"""The notation of the model: a section is a frozen dataclass, `entry(...)` one of its keys.

A section's docstring and its keys' sentences are what the reference and the JSON Schema print.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Protocol, cast

from klamm.pipeline.spec.kinds import BAD, JsonSchema, Kind, ListOf, Reading
from klamm.pipeline.spec.nodes import Entries, Node, Plain, Scalar, describe, quoted
from klamm.pipeline.spec.problems import Mark, Path, nearest, one_of


class SectionClass(Protocol):
    """A dataclass of keys. `LEADS` are the keys that tell it from its alternatives."""

    LEADS: ClassVar[tuple[str, ...]]
    __name__: str


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what it is called in the file and in code, what it holds, and the sentence about it."""

    name: str
    attribute: str
    kind: Kind
    doc: str
    required: bool
    default: object
    single: str | None
    secret: bool
    from_environment: bool
    default_words: str | None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.single, self.name) if self.single else (self.name,)

    @property
    def single_kind(self) -> Kind:
        return cast(ListOf, self.kind).item


def entry(
    kind: Kind,
    doc: str,
    *,
    default: object = MISSING,
    name: str | None = None,
    single: str | None = None,
    secret: bool = False,
    from_environment: bool = False,
    default_words: str | None = None,
) -> Any:  # as dataclasses.field: the annotation beside it is the type
    """A key of a section. `single` is the name under which a list of one may be written without the list.

    A secret is hidden when the pipeline is shown; `from_environment` marks where `${NAME}` is filled in.
    """
    facts = {
        "kind": kind,
        "doc": doc,
        "name": name,
        "single": single,
        "secret": secret,
        "from_environment": from_environment,
        "default_words": default_words,
    }
    if default is MISSING:
        return field(metadata={"key": facts}, repr=not secret)
    return field(default=default, metadata={"key": facts}, repr=not secret)


def keys_of(section: type) -> tuple[Key, ...]:
    """The keys of a section, in the order of its declaration."""
    return _keys_of(section)


@cache
def _keys_of(section: Any) -> tuple[Key, ...]:
    found = []
    for each in fields(section):
        facts = {**each.metadata["key"], "name": each.metadata["key"]["name"] or each.name}
        default = None if each.default is MISSING else each.default
        found.append(
            Key(attribute=each.name, required=each.default is MISSING, default=default, **facts)
        )
    return tuple(found)


def sentence(section: type) -> str:
    """What the section is, from its docstring."""
    return " ".join((section.__doc__ or "").split())


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping with the keys of one section."""

    of: type
    words: str = "a mapping"
    # Values for required keys that could not be read, so that the rest can still be examined.
    stand_ins: Mapping[str, object] = field(default_factory=dict)

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        if not isinstance(node, Entries):
            return reading.wrong(path, node, self.words)
        return _SectionReader(self, node, path, reading).read()

    def write(self, value: object) -> Plain:
        return write_section(value)

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        name = self.of.__name__
        if name not in defs:
            defs[name] = {}  # claimed first: sections may hold each other
            defs[name] = section_schema(self.of, defs)
        return {"$ref": f"#/$defs/{name}"}


@dataclass(frozen=True, slots=True)
class OneOf:
    """A mapping that is one of several sections; which one, its leading key tells."""

    words: str
    sections: tuple[type, ...]
    # Keys that people may look for here, and what to write instead.
    hints: Mapping[str, str] = field(default_factory=dict)

    def read(self, node: Node, path: Path, reading: Reading) -> object:
        if not isinstance(node, Entries):
            return reading.wrong(path, node, self.words)
        written = node.names()
        for section in self.sections:
            if any(lead in written for lead in leads_of(section)):
                return Section(section).read(node, path, reading)
        return self._without_lead(node, path, reading)

    def _without_lead(self, node: Entries, path: Path, reading: Reading) -> object:
        leads = {lead: section for section in self.sections for lead in leads_of(section)}
        for written, _ in node.pairs:
            if hint := self.hints.get(written.text):
                found = f"the key {quoted(written.text)}"
                return reading.note((*path, written.text), written.mark, expected=hint, found=found)
        for name in node.names():
            if near := nearest(name, leads):
                return Section(leads[near]).read(node, path, reading)
        found = f"the keys {', '.join(map(quoted, node.names()[:8]))}" if node.pairs else "no key"
        expected = f"{self.words} with the key {one_of(list(leads))}"
        return reading.note(path, node.mark, expected=expected, found=found)

    def write(self, value: object) -> Plain:
        return write_section(value)

    def json_schema(self, defs: dict[str, JsonSchema]) -> JsonSchema:
        return {"anyOf": [Section(section).json_schema(defs) for section in self.sections]}


def leads_of(section: type) -> tuple[str, ...]:
    return cast(SectionClass, section).LEADS


class _SectionReader:
    """Reads one mapping into one section, and goes on after each problem."""

    def __init__(self, kind: Section, node: Entries, path: Path, reading: Reading) -> None:
        self.section = kind.of
        self.stand_ins = kind.stand_ins
        self.node = node
        self.path = path
        self.reading = reading
        self.keys = {name: key for key in keys_of(kind.of) for name in key.names}
        self.values: dict[str, object] = {}
        self.misspelt: set[str] = set()
        reading.marks[path] = node.mark

    def read(self) -> object:
        seen: dict[str, str] = {}
        for written, value in self.node.pairs:
            known = self.keys.get(written.text)
            if known is None:
                self._unknown(written)
            elif known.attribute in seen:
                self._twice(written, seen[known.attribute])
            else:
                seen[known.attribute] = written.text
                self._read_key(known, written, value)
        missing = [
            k for k in keys_of(self.section) if k.required and k.attribute not in self.values
        ]
        for each in missing:
            if each.attribute not in seen and not self.misspelt & set(each.names):
                self._missing(each)
            self.reading.bad_paths.update((*self.path, name) for name in each.names)
        if any(each.attribute not in self.stand_ins for each in missing):
            self.reading.bad_paths.add(self.path)
            return BAD
        self.values.update((each.attribute, self.stand_ins[each.attribute]) for each in missing)
        made: object = self.section(**self.values)
        self.reading.sections[id(made)] = (made, self.path)
        return made

    def _read_key(self, known: Key, written: Scalar, value: Node) -> None:
        path = (*self.path, written.text)
        self.reading.marks[path] = value.mark
        if written.text == known.single:
            one = known.single_kind.read(value, path, self.reading)
            if one is not BAD:
                self.values[known.attribute] = (one,)
            return
        result = known.kind.read(value, path, self.reading)
        if result is not BAD:
            self.values[known.attribute] = result

    def _unknown(self, written: Scalar) -> None:
        near = nearest(written.text, [name for name in self.keys if name not in self.node.names()])
        if near:
            self.misspelt.add(near)
            self.reading.bad_paths.add((*self.path, near))
        self._note(written.mark, written.text, f"one of the keys {', '.join(self.keys)}", near)

    def _twice(self, written: Scalar, before: str) -> None:
        if before == written.text:
            expected, found = "each key once", f"{quoted(written.text)} a second time"
        else:
            expected, found = f"either {before} or {written.text}", "both"
        self.reading.note((*self.path, written.text), written.mark, expected=expected, found=found)

    def _missing(self, each: Key) -> None:
        expected = f"the key {one_of(each.names)} ({each.kind.words})"
        found = "no such key" if self.node.pairs else describe(self.node)
        self.reading.note(self.path, self.node.mark, expected=expected, found=found)

    def _note(self, mark: Mark | None, name: str, expected: str, near: str | None) -> None:
        found = f"the key {quoted(name)}"
        self.reading.note((*self.path, name), mark, expected=expected, found=found, near=near)


def write_section(section: object) -> Plain:
    """The section as the mapping that reads back to it; keys with their default are left out."""
    if not hasattr(section, "__dataclass_fields__"):
        return section  # type: ignore[return-value]  # not a section: `read` will say so
    written: dict[str, Plain] = {}
    for each in keys_of(type(section)):
        value = getattr(section, each.attribute)
        if not each.required and value == each.default:
            continue
        if each.single and isinstance(value, tuple | list) and len(value) == 1:
            written[each.single] = each.single_kind.write(value[0])
        else:
            written[each.name] = each.kind.write(value)
    return written


def section_schema(section: type, defs: dict[str, JsonSchema]) -> JsonSchema:
    """JSON Schema of one section."""
    properties: dict[str, object] = {}
    required = []
    # Each says: one of these keys must be there.
    choices: list[tuple[str, ...]] = []
    for each in keys_of(section):
        schema: JsonSchema = {"description": each.doc, **each.kind.json_schema(defs)}
        if not each.required and each.default not in (None, ()):
            schema["default"] = each.kind.write(each.default)
        properties[each.name] = schema
        if each.single:
            single = each.single_kind.json_schema(defs)
            properties[each.single] = {"description": each.doc, **single}
        if each.required and each.single:
            choices.append(each.names)
        elif each.required:
            required.append(each.name)
    if len(leads := getattr(section, "LEADS", ())) > 1:
        choices.append(leads)
    shape: JsonSchema = {
        "type": "object",
        "description": sentence(section),
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    if choices:
        shape["allOf"] = [{"anyOf": [{"required": [n]} for n in names]} for names in choices]
    return shape
