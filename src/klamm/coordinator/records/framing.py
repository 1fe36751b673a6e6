"""How a coordinator's record stands in its topic: the key begins with its kind, the value with its version.

A record without a value is a tombstone: what its key names is gone.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from klamm.base.errors import CorruptFrame
from klamm.protocol.compile import decode, encoder
from klamm.protocol.declare import schema_of
from klamm.protocol.wire import Buffer

_SHORT = Struct(">h")
# The one version every key has.
_KEY_VERSION = 0


class CoordinatorRecord(NamedTuple):
    """`version` is the version of the value; it says nothing where there is none."""

    key: object
    value: object | None = None
    version: int = 0


class Framing:
    """The kinds of records of one topic: for each, the class of its key and of its value."""

    def __init__(self, kinds: tuple[tuple[type, type], ...]) -> None:
        self._kinds: dict[int, tuple[type, type]] = {}
        self._prefixes: dict[type, bytes] = {}
        for key, value in kinds:
            kind = schema_of(key).api_key
            assert kind is not None
            self._kinds[kind] = (key, value)
            self._prefixes[key] = _SHORT.pack(kind)

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        named, body, version = record
        cls = type(named)
        key = bytearray(self._prefixes[cls])
        encoder(cls, _KEY_VERSION)(named, key)
        if body is None:
            return bytes(key), None
        value = bytearray(_SHORT.pack(version))
        encoder(type(body), version)(body, value)
        return bytes(key), bytes(value)

    def decode(self, key: Buffer, value: Buffer | None) -> CoordinatorRecord | None:
        """None for a kind that this broker does not know; newer brokers may have written it."""
        if len(key) < _SHORT.size:
            raise CorruptFrame("a coordinator's record without a kind")
        (kind,) = _SHORT.unpack_from(key)
        if kind not in self._kinds:
            return None
        key_class, value_class = self._kinds[kind]
        name: object = decode(key_class, _KEY_VERSION, memoryview(key)[_SHORT.size :])
        if value is None:
            return CoordinatorRecord(name)
        if len(value) < _SHORT.size:
            raise CorruptFrame("a coordinator's record without a version")
        (version,) = _SHORT.unpack_from(value)
        low, high = schema_of(value_class).versions
        if not low <= version <= high:
            raise CorruptFrame(f"{value_class.__name__} has no version {version}")
        body: object = decode(value_class, version, memoryview(value)[_SHORT.size :])
        return CoordinatorRecord(name, body, version)
