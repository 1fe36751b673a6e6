"""The notation for messages: one class per message, all its versions in one place.

    @message(api_key=12, versions="0-4", flexible="4+")
    class HeartbeatRequest:
        group_id: String = ""
        generation_id: Int32 = 0
        group_instance_id: NullableString = field(since=3, default=None)

The class becomes a slotted, mutable data class with a keyword-only constructor. Every field has a default, which is
also what a decoded message holds where its version has no such field. Nothing else is done at import: types are
resolved, and code is compiled, when a class is first used. Annotations must be real objects, so files of messages do
not import annotations from __future__.
"""

import types
from collections.abc import Callable
from copy import copy
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, dataclass_transform, get_args

from klamm.base.ids import Uuid
from klamm.protocol.wire import Buffer

T = TypeVar("T")
Kind = Literal["request", "response", "header", "record", "struct"]


class WireType(NamedTuple):
    """How a value stands on the wire. `code` is its letter in `struct`, empty where the size varies."""

    name: str
    code: str = ""
    size: int = 0
    nullable: bool = False
    element: "WireType | None" = None
    struct: "type | None" = None


Int8 = Annotated[int, WireType("int8", "b", 1)]
Int16 = Annotated[int, WireType("int16", "h", 2)]
Int32 = Annotated[int, WireType("int32", "i", 4)]
Int64 = Annotated[int, WireType("int64", "q", 8)]
UInt16 = Annotated[int, WireType("uint16", "H", 2)]
UInt32 = Annotated[int, WireType("uint32", "I", 4)]
Float64 = Annotated[float, WireType("float64", "d", 8)]
Bool = Annotated[bool, WireType("bool", "?", 1)]
String = Annotated[str, WireType("string")]
NullableString = Annotated[str | None, WireType("string", nullable=True)]
Bytes = Annotated[Buffer, WireType("bytes")]
NullableBytes = Annotated[Buffer | None, WireType("bytes", nullable=True)]
Records = Annotated[Buffer, WireType("records")]
NullableRecords = Annotated[Buffer | None, WireType("records", nullable=True)]
Array = Annotated[list[T], WireType("array")]
NullableArray = Annotated[list[T] | None, WireType("array", nullable=True)]

_UUID = WireType("uuid", "16s", 16)
_NOTHING = object()


class Field:
    """One field of a message: its type, the versions that carry it and what it holds elsewhere."""

    name: str
    type: WireType

    def __init__(self, default: Any, factory: Callable[[], Any] | None = None) -> None:
        self.default = default
        self.factory = factory
        self.since = 0
        self.until: int | None = None
        self.nullable_since = 0
        self.tag: int | None = None
        self.compact = True

    def is_in(self, version: int) -> bool:
        return self.since <= version and (self.until is None or version <= self.until)

    def is_nullable_in(self, version: int) -> bool:
        return self.type.nullable and version >= self.nullable_since


def field(
    *,
    default: Any = _NOTHING,
    factory: Callable[[], Any] | None = None,
    since: int = 0,
    until: int | None = None,
    nullable_since: int = 0,
    tag: int | None = None,
    compact: bool = True,
) -> Any:
    """Say more about a field than its type and default.

    since, until     first and last version that carry it
    nullable_since   first version in which a nullable type may be null
    tag              it is a tagged field of this number: sent only when it differs from its default
    compact          False: keeps its old encoding in flexible versions too
    factory          makes the default, where it is a struct
    """
    declared = Field(default, factory)
    declared.since = since
    declared.until = until
    declared.nullable_since = nullable_since
    declared.tag = tag
    declared.compact = compact
    return declared


class Schema:
    """What was declared about one class; `cls.SCHEMA`."""

    def __init__(self, cls: type, kind: Kind, specs: dict[str, Field]) -> None:
        self.cls = cls
        self.name = cls.__name__
        self.kind = kind
        self.api_key: int | None = None
        self.versions = (0, 0)
        self.flexible_since: int | None = None
        self._specs = specs
        self._fields: tuple[Field, ...] | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        if self._fields is None:
            annotations = self.cls.__annotations__
            for name, spec in self._specs.items():
                spec.name = name
                spec.type = _wire_type(annotations[name])
            self._fields = tuple(self._specs.values())
        return self._fields

    def is_flexible(self, version: int) -> bool:
        return self.flexible_since is not None and version >= self.flexible_since


def altered(original: T, **values: Any) -> T:
    """The same message with other values in some of its fields."""
    made = copy(original)
    for name, value in values.items():
        setattr(made, name, value)
    return made


def schema_of(cls: type) -> Schema:
    """`cls.SCHEMA`, typed."""
    schema: Schema = cls.SCHEMA  # type: ignore[attr-defined]
    return schema


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def struct(cls: type[T]) -> type[T]:
    """A part of a message. Its versions are those of the message it stands in."""
    return _build(cls, "struct")


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def message(
    *, versions: str, flexible: str | None = None, api_key: int | None = None
) -> Callable[[type[T]], type[T]]:
    """A whole message; what kind it is follows from how its name ends.

    `api_key` is the number of the API, or of the record type for records. `flexible` names the versions with compact
    lengths and tagged fields.
    """

    def declare(cls: type[T]) -> type[T]:
        built = _build(cls, _kind_of(cls.__name__))
        schema = schema_of(built)
        low, _, high = versions.partition("-")
        schema.versions = (int(low), int(high or low))
        schema.api_key = api_key
        schema.flexible_since = int(flexible.rstrip("+")) if flexible else None
        return built

    return declare


def _kind_of(name: str) -> Kind:
    for ending, kind in _KINDS:
        if name.endswith(ending):
            return kind
    return "record"


_KINDS: tuple[tuple[str, Kind], ...] = (
    ("Request", "request"),
    ("Response", "response"),
    ("Header", "header"),
)


def _build(cls: type[T], kind: Kind) -> type[T]:
    """The same class with slots instead of class attributes, which cannot stand side by side."""
    namespace = dict(cls.__dict__)
    annotations = namespace.get("__annotations__", {})
    specs = {}
    for name in annotations:
        given = namespace.pop(name, _NOTHING)
        spec = specs[name] = given if isinstance(given, Field) else Field(given)
        if spec.default is _NOTHING and spec.factory is None:
            raise TypeError(f"{cls.__name__}.{name} has no default")
    del namespace["__dict__"], namespace["__weakref__"]
    namespace["__slots__"] = tuple(annotations)
    namespace["__init__"] = _first_init
    namespace["__eq__"] = _equal
    namespace["__repr__"] = _represent
    namespace["__hash__"] = None
    built = type(cls.__name__, (), namespace)
    built.SCHEMA = Schema(built, kind, specs)  # type: ignore[attr-defined]
    return built


def _wire_type(annotation: Any) -> WireType:
    """Read an annotation. A struct stands for itself, a nullable one is written `Name | None`."""
    if annotation is Uuid:
        return _UUID
    if isinstance(annotation, types.UnionType):
        (cls,) = (part for part in get_args(annotation) if part is not types.NoneType)
        return WireType("struct", nullable=True, struct=cls)
    if isinstance(annotation, type):
        return WireType("struct", struct=annotation)
    wire: WireType = annotation.__metadata__[0]
    if wire.name != "array":
        return wire
    listed = annotation.__origin__
    if wire.nullable:
        (listed,) = (part for part in get_args(listed) if part is not types.NoneType)
    return wire._replace(element=_wire_type(get_args(listed)[0]))


def _first_init(self: Any, **values: Any) -> None:
    """Stands in for __init__ until a class makes its first object, then writes the real one."""
    cls = type(self)
    cls.__init__ = _compile_init(cls)
    cls.__init__(self, **values)


def _compile_init(cls: type) -> Callable[..., None]:
    namespace: dict[str, Any] = {"_unset": object()}
    parameters, body = [], []
    for spec in schema_of(cls).fields:
        name = spec.name
        fresh = "[]" if spec.default == [] else None
        if spec.factory is not None:
            namespace[f"_new_{name}"] = spec.factory
            fresh = f"_new_{name}()"
        if fresh is None:
            namespace[f"_default_{name}"] = spec.default
            parameters.append(f"{name}=_default_{name}")
            body.append(f"self.{name} = {name}")
        else:
            parameters.append(f"{name}=_unset")
            body.append(f"self.{name} = {fresh} if {name} is _unset else {name}")
    star = "*, " if parameters else ""
    lines = "\n    ".join(body) or "pass"
    source = f"def __init__(self, {star}{', '.join(parameters)}):\n    {lines}\n"
    exec(source, namespace)
    init: Callable[..., None] = namespace["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _equal(self: Any, other: object) -> Any:
    if not isinstance(other, type(self)):
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)


def _represent(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
    return f"{type(self).__name__}({values})"
