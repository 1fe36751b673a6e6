"""Values to bytes and back. Any function of the right shape will do; these are the common ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Bytes: TypeAlias = bytes | None
Serializer: TypeAlias = Callable[[T], Bytes]
Deserializer: TypeAlias = Callable[[Bytes], T]


def as_is(value: Bytes) -> Bytes:
    """Bytes in both directions; what clients use unless told otherwise."""
    return value


def text(value: str | None) -> Bytes:
    return None if value is None else value.encode()


def read_text(data: Bytes) -> str | None:
    return None if data is None else data.decode()


def as_json(value: object) -> Bytes:
    """None is a tombstone, not JSON's null."""
    return None if value is None else json.dumps(value, separators=(",", ":")).encode()


def read_json(data: Bytes) -> object:
    return None if data is None else json.loads(data)
