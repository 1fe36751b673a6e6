"""klamm's messages out of the JSON form of Kafka's `*JsonConverter` classes, and where the messages are.

Fields are matched by name alone (topicId is topic_id), bytes are base64, and a field that the JSON
leaves out keeps its default.
"""

from __future__ import annotations

import base64
import importlib
import pkgutil
from functools import cache
from typing import Any

import klamm.coordinator.records
import klamm.metadata.records
import klamm.protocol.messages
from golden.samples import Json, Struct
from klamm.base.ids import Uuid
from klamm.protocol.declare import WireType, schema_of

_CATALOGUES = (klamm.protocol.messages, klamm.metadata.records, klamm.coordinator.records)


@cache
def message_classes() -> dict[str, type[Any]]:
    """Every message that klamm declares, by name; the structs inside messages are not among them."""
    classes: dict[str, type[Any]] = {}
    for catalogue in _CATALOGUES:
        for module in pkgutil.iter_modules(catalogue.__path__, f"{catalogue.__name__}."):
            for thing in vars(importlib.import_module(module.name)).values():
                if hasattr(thing, "SCHEMA") and schema_of(thing).kind != "struct":
                    known = classes.setdefault(thing.__name__, thing)
                    assert known is thing, f"{thing.__name__} is declared twice"
    return classes


def from_json(cls: type[Any], value: Struct) -> Any:
    fields = {field.name.replace("_", ""): field for field in schema_of(cls).fields}
    known = {name: fields[name.lower()] for name in value}
    return cls(**{field.name: _value(field.type, value[name]) for name, field in known.items()})


def _value(wire: WireType, value: Json) -> object:
    if isinstance(value, list):
        assert wire.element is not None
        return [_value(wire.element, element) for element in value]
    if isinstance(value, dict):
        assert wire.struct is not None
        return from_json(wire.struct, value)
    if isinstance(value, str) and wire.name in ("bytes", "records"):
        return base64.b64decode(value)
    if isinstance(value, str) and wire.name == "uuid":
        return Uuid.parse(value)
    return value
