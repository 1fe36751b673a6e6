"""The notation of the settings table: `setting(...)` is a typed field, `accepted(...)` a row klamm does not act on.

A theme is a frozen dataclass of settings; the rows are read back from its fields. Knows no setting by name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, NamedTuple, TypeVar, cast

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.checks import Between, Check, ListOf, OneOf, invalid
from klamm.base.settings.kinds import Kind, Value, read, write

LONG_MAX = (1 << 63) - 1
INT_MAX = (1 << 31) - 1

Theme = TypeVar("Theme")


class Mode(Enum):
    """How a broker setting may change while the broker runs."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Synonym(NamedTuple):
    """Another name whose value stands in when this one is not set; `times` turns its unit into ours."""

    name: str
    times: int = 1


class InvalidValueError(ApiError):
    """A value that a setting cannot take; says it to a client as Kafka does."""

    def __init__(self, row: "Setting", value: str | None, sentence: str) -> None:
        super().__init__(ErrorCode.INVALID_CONFIG, sentence)
        self.setting = row
        self.value = value


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row of the table."""

    name: str
    kind: Kind
    default: Value
    doc: str
    check: Check | None = None
    mode: Mode = Mode.READ_ONLY
    # The broker settings that speak for this one, the strongest first; one of several units is among them itself.
    synonyms: tuple[Synonym, ...] = ()
    # False: the value is accepted and shown, and nothing happens.
    effective: bool = True
    # Known and accepted, but not shown to clients: Kafka keeps these for its own tests, or does not have them.
    hidden: bool = False

    @property
    def sensitive(self) -> bool:
        return self.kind is Kind.PASSWORD

    @property
    def default_text(self) -> str | None:
        return write(self.kind, self.default)

    @property
    def expected(self) -> str:
        """What the value must look like, in one line."""
        if self.check is None:
            return _KIND_TEXT[self.kind]
        return (
            self.check.text
            if self.kind is Kind.STRING
            else f"{_KIND_TEXT[self.kind]} {self.check.text}".rstrip()
        )

    def read(self, text: str) -> Value:
        try:
            value = read(self.kind, text)
        except ValueError as error:
            raise InvalidValueError(self, text, invalid(self.name, text, str(error))) from None
        if isinstance(self.check, ListOf):
            # Repeated members are dropped, not refused: Kafka does so for every list of names.
            value = tuple(dict.fromkeys(cast(tuple[str, ...], value)))
        if self.check and (sentence := self.check.problem(self.name, value)):
            raise InvalidValueError(self, text, sentence)
        return value

    def shown(self, text: str | None) -> str | None:
        """The value as a client sees it: parsed and written back, never a secret."""
        return write(self.kind, self.read(text)) if text is not None else None


_KIND_TEXT = {
    Kind.BOOLEAN: "true or false",
    Kind.STRING: "text",
    Kind.INT: "a 32-bit number",
    Kind.SHORT: "a 16-bit number",
    Kind.LONG: "a 64-bit number",
    Kind.DOUBLE: "a decimal number",
    Kind.LIST: "a comma-separated list",
    Kind.CLASS: "a class name",
    Kind.PASSWORD: "a secret",
}


def row(
    name: str,
    kind: Kind,
    default: Value,
    *,
    doc: str,
    at_least: int | None = None,
    at_most: int | float | None = None,
    one_of: tuple[str, ...] = (),
    check: Check | None = None,
    mode: Mode = Mode.READ_ONLY,
    synonyms: Iterable[Synonym] = (),
    effective: bool = True,
    hidden: bool = False,
) -> Setting:
    if at_least is not None or at_most is not None:
        check = Between(at_least, at_most)
    elif one_of:
        check = ListOf(one_of) if kind is Kind.LIST else OneOf(one_of)
    elif kind is Kind.LIST and check is None:
        check = ListOf()
    return Setting(
        name=name,
        kind=kind,
        default=default,
        doc=doc,
        check=check,
        mode=mode,
        synonyms=tuple(synonyms),
        effective=effective,
        hidden=hidden,
    )


def setting(name: str, kind: Kind, default: Value, **facts: Any) -> Any:
    """A row that is also a field of its theme; the field's annotation is what mypy sees."""
    declared = row(name, kind, default, **facts)
    return field(default=default, metadata={"setting": declared})


def accepted(name: str, kind: Kind, default: Value, **facts: Any) -> Setting:
    """A row that klamm knows and checks but does not act on."""
    return row(name, kind, default, effective=False, **facts)


def settings_of(theme: type) -> dict[str, Setting]:
    """The rows of a theme, by the name of its field."""
    return {
        each.name: each.metadata["setting"] for each in fields(theme) if "setting" in each.metadata
    }


def read_theme(theme: type[Theme], texts: Mapping[str, str]) -> Theme:
    """A theme filled from texts; what is not there keeps its default."""
    values = {
        attribute: declared.read(texts[declared.name])
        for attribute, declared in settings_of(theme).items()
        if declared.name in texts
    }
    return theme(**values)
