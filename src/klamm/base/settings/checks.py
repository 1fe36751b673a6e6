"""What a value must be beyond its type. Each check gives None, or in Kafka's words what is wrong with the value.

`text` says the same in one line, for the documentation and for the messages of a wrong config file.
"""

import re
from dataclasses import dataclass
from typing import Protocol

from klamm.base.settings.kinds import Value, java_double


class Check(Protocol):
    @property
    def text(self) -> str: ...

    def problem(self, name: str, value: Value) -> str | None:
        """The whole sentence that a client reads, or None when the value will do."""


def invalid(name: str, value: object, reason: str) -> str:
    match value:
        case tuple():
            shown = f"[{', '.join(value)}]"
        case float():
            shown = java_double(value)
        case _:
            shown = str(value)
    return f"Invalid value {shown} for configuration {name}: {reason}"


@dataclass(frozen=True, slots=True)
class Between:
    at_least: int | float | None = None
    at_most: int | float | None = None

    @property
    def text(self) -> str:
        if self.at_most is None:
            return f"at least {self.at_least}"
        return f"from {self.at_least} to {self.at_most}"

    def problem(self, name: str, value: Value) -> str | None:
        assert isinstance(value, int | float)
        if self.at_least is not None and value < self.at_least:
            return invalid(name, value, f"Value must be at least {self.at_least}")
        if self.at_most is not None and value > self.at_most:
            return invalid(name, value, f"Value must be no more than {self.at_most}")
        return None


@dataclass(frozen=True, slots=True)
class OneOf:
    names: tuple[str, ...]
    any_case: bool = False

    @property
    def text(self) -> str:
        return "one of " + ", ".join(self.names) + (" in any case" if self.any_case else "")

    def problem(self, name: str, value: Value) -> str | None:
        if value in self.names or (self.any_case and str(value).upper() in self.names):
            return None
        hint = "one of (case insensitive)" if self.any_case else "one of"
        return invalid(name, value, f"String must be {hint}: {', '.join(self.names)}")


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list without empty members, and where `names` are given, of those only."""

    names: tuple[str, ...] = ()
    may_be_empty: bool = True

    @property
    def text(self) -> str:
        members = f"of {', '.join(self.names)}" if self.names else ""
        return members if self.may_be_empty else f"{members} and not empty".removeprefix(" and ")

    def problem(self, name: str, value: Value) -> str | None:
        assert isinstance(value, tuple)
        if not value and not self.may_be_empty:
            valid = f"[{', '.join(self.names)}]" if self.names else "any non-empty value"
            return f"Configuration '{name}' must not be empty. Valid values include: {valid}"
        for member in value:
            if not member:
                return f"Configuration '{name}' values must not be empty."
            if self.names and member not in self.names:
                return OneOf(self.names).problem(name, member)
        return None


@dataclass(frozen=True, slots=True)
class NotEmpty:
    text: str = "not empty"

    def problem(self, name: str, value: Value) -> str | None:
        return None if value else invalid(name, value, "String must be non-empty")


@dataclass(frozen=True, slots=True)
class GzipLevel:
    text: str = "from 1 to 9, or -1"

    def problem(self, name: str, value: Value) -> str | None:
        if value == -1 or value in range(1, 10):
            return None
        return invalid(name, value, "Value must be between 1 and 9 or equal to -1")


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    text: str = "of partition:broker, or `*`"

    def problem(self, name: str, value: Value) -> str | None:
        assert isinstance(value, tuple)
        if value == ("*",) or all(re.fullmatch(r"[0-9]+:[0-9]+", member) for member in value):
            return None
        form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        return invalid(
            name,
            value,
            f"{name} must be the literal '*' or a list of replicas in the following format: {form}",
        )


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """Where a share group begins: an end of the log, or so long before now (an ISO-8601 duration)."""

    text: str = "earliest, latest or by_duration:PnDTnHnMn.nS"
    _duration = re.compile(
        r"by_duration:\+?P(?=.)([0-9]+D)?(T(?=.)([0-9]+H)?([0-9]+M)?([0-9]+([.,][0-9]{0,9})?S)?)?",
        re.IGNORECASE,
    )

    def problem(self, name: str, value: Value) -> str | None:
        text = str(value)
        if text in ("earliest", "latest") or self._duration.fullmatch(text):
            return None
        return invalid(
            name,
            value,
            f"Invalid value `{text}` for configuration {name}. The value must be either 'earliest', "
            "'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        )


_HOST_PORT = r"(?:\[[0-9A-Fa-f:.%]+\]|[^\[\]:@\s]+):[0-9]+"


@dataclass(frozen=True, slots=True)
class Voters:
    text: str = "of id@host:port"

    def problem(self, name: str, value: Value) -> str | None:
        assert isinstance(value, tuple)
        form = "Each entry should be in the form `{id}@{host}:{port}`."
        for voter in value:
            number, at, address = voter.partition("@")
            if not at:
                return f"Invalid configuration value for {name}. {form}"
            if not re.fullmatch(r"[+-]?[0-9]{1,9}", number):
                return f"Failed to parse voter ID as an integer from {number}"
            if not re.fullmatch(_HOST_PORT, address):
                return f"Failed to parse host name from entry {voter} for the configuration {name}. {form}"
        return None


@dataclass(frozen=True, slots=True)
class HostsAndPorts:
    text: str = "of host:port"

    def problem(self, name: str, value: Value) -> str | None:
        assert isinstance(value, tuple)
        for address in value:
            if not re.fullmatch(_HOST_PORT, address):
                return (
                    f"Failed to parse host name from {address} for the configuration {name}. "
                    'Each entry should be in the form "{host}:{port}"'
                )
        return None
