"""Records as tests write and read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

# None is a tombstone. What JSON can hold is written as JSON.
Value: TypeAlias = bytes | str | Mapping[str, Any] | list[Any] | int | float | None
Headers: TypeAlias = Mapping[str, "bytes | str | None"] | Sequence[tuple[str, "bytes | str | None"]]


@dataclass(frozen=True, slots=True)
class Record:
    """To be written, or as it was read. What is None is not asked for when records are compared."""

    value: Value = None
    key: Value = None
    headers: Headers = ()
    topic: str | None = None
    partition: int | None = None
    timestamp: int | None = None
    offset: int | None = None

    @property
    def text(self) -> str | None:
        """The value as text."""
        return _text(self.value)

    @property
    def key_text(self) -> str | None:
        return _text(self.key)

    def json(self) -> Any:
        """The value as what its JSON says."""
        return None if self.text is None else json.loads(self.text)

    def __str__(self) -> str:
        where = f"{self.topic}-{self.partition}@{self.offset} " if self.offset is not None else ""
        key = "" if self.key is None else f"{_shown(self.key)}: "
        return f"{where}{key}{_shown(self.value)}"


# A value; a key and a value; a whole record.
Item: TypeAlias = "Value | tuple[Value, Value] | Record"
# The same, or a question that is asked about each record.
Wanted: TypeAlias = "Item | Callable[[Record], bool]"


def as_bytes(value: Value) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return json.dumps(value).encode()


def as_headers(headers: Headers) -> list[tuple[str, bytes | None]]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return [(name, as_bytes(value)) for name, value in pairs]


def as_record(item: Item) -> Record:
    if isinstance(item, Record):
        return item
    if isinstance(item, tuple):
        key, value = item
        return Record(value, key)
    return Record(item)


def matches(record: Record, wanted: Wanted) -> bool:
    if callable(wanted):
        return bool(wanted(record))
    if not isinstance(wanted, Record):
        if isinstance(wanted, tuple):
            key, value = wanted
            return _is_equal(record.key, key) and _is_equal(record.value, value)
        return _is_equal(record.value, wanted)
    return (
        (wanted.value is None or _is_equal(record.value, wanted.value))
        and (wanted.key is None or _is_equal(record.key, wanted.key))
        and set(as_headers(wanted.headers)) <= set(as_headers(record.headers))
        and wanted.topic in (None, record.topic)
        and wanted.partition in (None, record.partition)
        and wanted.timestamp in (None, record.timestamp)
        and wanted.offset in (None, record.offset)
    )


def shown(wanted: Wanted) -> str:
    """For people who read why a test failed."""
    if callable(wanted):
        return getattr(wanted, "__name__", repr(wanted))
    if isinstance(wanted, tuple):
        return f"{_shown(wanted[0])}: {_shown(wanted[1])}"
    return str(wanted) if isinstance(wanted, Record) else _shown(wanted)


def _is_equal(found: Value, wanted: Value) -> bool:
    if wanted is None or isinstance(wanted, bytes | str):
        return as_bytes(found) == as_bytes(wanted)
    try:
        return bool(json.loads(_text(found) or "null") == wanted)
    except ValueError:
        return False


def _text(value: Value) -> str | None:
    data = as_bytes(value)
    return None if data is None else data.decode(errors="replace")


def _shown(value: Value) -> str:
    text = _text(value)
    if text is None:
        return "null"
    return text if len(text) <= 200 else f"{text[:200]}... ({len(text)} characters)"
