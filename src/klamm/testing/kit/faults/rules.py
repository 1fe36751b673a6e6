"""What is to go wrong, and for whom."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from klamm.base.errors import ErrorCode
from klamm.protocol.apis import API_BY_NAME


class Action(Enum):
    ERROR = "error"
    DELAY = "delay"
    DROP = "drop"
    DISCONNECT = "disconnect"
    THROTTLE = "throttle"
    FULL_DISK = "full disk"
    TORN_WRITE = "torn write"


ON_DISK = frozenset({Action.FULL_DISK, Action.TORN_WRITE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A field that is None asks for nothing."""

    action: Action
    # As its file is called, list_offsets; None for all.
    api: str | None = None
    client_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    times: int | None = None
    code: ErrorCode = ErrorCode.NONE
    seconds: float = 0.0
    # The request is done, and only its answer goes wrong.
    after: bool = False

    def __str__(self) -> str:
        parts = [self.action.value]
        parts += [API_BY_NAME[self.api].title] if self.api else []
        parts += [self.code.name] if self.code else []
        for name in ("client_id", "topic", "partition", "group"):
            if getattr(self, name) is not None:
                parts.append(f"{name}={getattr(self, name)}")
        return " ".join(parts)


@dataclass(slots=True, eq=False)
class Armed:
    """A rule at work, and how often it struck."""

    rule: Rule
    count: int = 0

    @property
    def is_spent(self) -> bool:
        return self.rule.times is not None and self.count >= self.rule.times


def api_named(name: str) -> str:
    """PRODUCE, Produce and produce are one; so are LIST_OFFSETS and ListOffsets."""
    wanted = name.replace("_", "").lower()
    for known in API_BY_NAME:
        if known.replace("_", "") == wanted:
            return known
    titles = ", ".join(each.title for each in API_BY_NAME.values())
    raise ValueError(f"Kafka has no API {name}; there are {titles}")


def code_named(name: str | ErrorCode) -> ErrorCode:
    if isinstance(name, ErrorCode):
        return name
    try:
        return ErrorCode[name.upper()]
    except KeyError:
        raise ValueError(f"Kafka has no error {name}") from None
