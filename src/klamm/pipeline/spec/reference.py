"""The reference of every key of the pipeline file, written from the model itself."""

import re

from klamm.pipeline.spec.kinds import Kind, ListOf
from klamm.pipeline.spec.model.pipeline import Pipeline
from klamm.pipeline.spec.sections import Key, OneOf, Section, keys_of, sentence


def reference_markdown() -> str:
    """One heading per section, one row per key: what it holds, its default, and the sentence about it."""
    lines: list[str] = []
    for section in _sections():
        lines += [f"### {_title(section)}", "", sentence(section), ""]
        lines += ["| key | value | default | meaning |", "|---|---|---|---|"]
        lines += [_row(each) for each in keys_of(section)]
        lines.append("")
    return "\n".join(lines)


def _sections() -> list[type]:
    """All sections, the pipeline first, each before what it holds."""
    found: list[type] = []
    waiting: list[type] = [Pipeline]
    while waiting:
        section = waiting.pop(0)
        if section not in found:
            found.append(section)
            waiting += [inner for each in keys_of(section) for inner in _sections_in(each.kind)]
    return found


def _sections_in(kind: Kind) -> tuple[type, ...]:
    if isinstance(kind, ListOf):
        return _sections_in(kind.item)
    if isinstance(kind, OneOf):
        return kind.sections
    return (kind.of,) if isinstance(kind, Section) else ()


def _row(each: Key) -> str:
    names = ", ".join(f"`{name}`" for name in each.names)
    cells = (names, _value(each.kind), _default(each), each.doc)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _value(kind: Kind) -> str:
    inner = _sections_in(kind)
    if not inner:
        return kind.words
    links = ", ".join(f"[{_title(section).lower()}](#{_anchor(section)})" for section in inner)
    return f"list of: {links}" if isinstance(kind, ListOf) else links


def _default(each: Key) -> str:
    if each.required:
        return "required"
    if each.default_words:
        return each.default_words
    if each.default in (None, ()):
        return ""
    written = each.kind.write(each.default)
    if isinstance(written, dict):
        return "`{" + ", ".join(f"{name}: {value}" for name, value in written.items()) + "}`"
    return f"`{str(written).lower() if isinstance(written, bool) else written}`"


def _title(section: type) -> str:
    """`TopicSource` is "Topic source"."""
    words = re.findall("[A-Z][a-z]*", section.__name__)
    return " ".join(words).capitalize()


def _anchor(section: type) -> str:
    return _title(section).lower().replace(" ", "-")
