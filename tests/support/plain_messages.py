"""Messages as plain Python data, so that requests can be written, and answers compared, as nested dicts."""

from collections.abc import Mapping
from typing import Any

from klamm.protocol.declare import Field, WireType, schema_of


def build(cls: type[Any], values: Mapping[str, Any]) -> Any:
    """A message from a dict; what is not named keeps its default."""
    fields = {field.name: field for field in schema_of(cls).fields}
    unknown = values.keys() - fields.keys()
    assert not unknown, f"{cls.__name__} has no {sorted(unknown)}"
    return cls(**{name: _build_value(fields[name].type, value) for name, value in values.items()})


def plain(message: Any, version: int) -> dict[str, Any]:
    """A dict of the fields that the version has."""
    fields = [field for field in schema_of(type(message)).fields if field.is_in(version)]
    return {
        field.name: _plain_value(field, getattr(message, field.name), version) for field in fields
    }


def _build_value(wire: WireType, value: Any) -> Any:
    if value is None:
        return None
    if wire.struct is not None:
        return build(wire.struct, value)
    if wire.element is not None:
        return [_build_value(wire.element, item) for item in value]
    return value


def _plain_value(field: Field, value: Any, version: int) -> Any:
    if isinstance(value, list):
        element = field.type.element
        is_struct = element is not None and element.struct is not None
        return [plain(item, version) for item in value] if is_struct else list(value)
    if field.type.struct is not None and value is not None:
        return plain(value, version)
    return bytes(value) if isinstance(value, memoryview | bytearray) else value
