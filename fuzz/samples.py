"""Messages to begin with: for each class and version one that is empty and one with something in every field."""

from collections.abc import Iterator
from typing import Any

from klamm.base.ids import Uuid
from klamm.protocol.compile import encode
from klamm.protocol.declare import Field, WireType, schema_of

_DEEPEST = 4


def encoded_samples(cls: type[Any], version: int) -> Iterator[bytes]:
    yield encode(cls(), version)
    yield encode(filled(cls, version), version)


def filled(cls: type[Any], version: int, depth: int = 0) -> Any:
    return cls(
        **{
            field.name: _value(field, version, depth)
            for field in schema_of(cls).fields
            if field.is_in(version)
        }
    )


def _value(field: Field, version: int, depth: int) -> Any:
    return _of_type(field.type, version, depth)


def _of_type(wire: WireType, version: int, depth: int) -> Any:
    if wire.struct is not None:
        return filled(wire.struct, version, depth + 1)
    if wire.element is not None:
        count = 2 if depth < _DEEPEST else 0
        return [_of_type(wire.element, version, depth + 1) for _ in range(count)]
    return _SIMPLE.get(wire.name, 1)


_SIMPLE: dict[str, Any] = {
    "string": "name",
    "uuid": Uuid(bytes(range(16))),
    "bool": True,
    "float64": 0.5,
    "bytes": b"bytes",
    "records": b"records",
}
