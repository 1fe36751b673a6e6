"""How much room values take: at least on the wire, and about how much in memory once decoded."""

from __future__ import annotations

from klamm.protocol.declare import Field, WireType, schema_of

# CPython's own sizes, rounded up to what its allocator hands out.
_POINTER = 8
_OBJECT = 32
_LIST = 56
_TEXT = 64
_VIEW = 192
_UUID = 64
_CACHED = {"bool", "int8"}


def fields_in(cls: type, version: int) -> list[Field]:
    """The untagged fields of one version, in the order in which they are sent."""
    return [field for field in schema_of(cls).fields if field.tag is None and field.is_in(version)]


def tagged_in(cls: type, version: int, *, flexible: bool) -> list[Field]:
    if not flexible:
        return []
    tagged = [f for f in schema_of(cls).fields if f.tag is not None and f.is_in(version)]
    return sorted(tagged, key=lambda field: field.tag or 0)


def least_size(wire: WireType, version: int, *, flexible: bool, nullable: bool = False) -> int:
    """The fewest bytes that one value can take."""
    if wire.code:
        return wire.size
    if wire.struct is not None:
        if nullable:
            return 1
        sizes = (
            least_size(f.type, version, flexible=flexible, nullable=f.is_nullable_in(version))
            for f in fields_in(wire.struct, version)
        )
        return sum(sizes) + flexible
    if flexible:
        return 1
    return 2 if wire.name == "string" else 4


def memory_cost(wire: WireType) -> int:
    """What one value costs beyond its own text or bytes; elements of arrays inside it are counted apart."""
    if wire.struct is not None:
        fields = schema_of(wire.struct).fields
        return _OBJECT + sum(_POINTER + memory_cost(field.type) for field in fields)
    if wire.code:
        return 0 if wire.name in _CACHED else _UUID if wire.name == "uuid" else _OBJECT
    if wire.name == "array":
        return _LIST
    return _TEXT if wire.name == "string" else _VIEW
