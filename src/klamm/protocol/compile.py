"""Declaration + version -> codec: a specialised function, compiled when it is first asked for and then kept.

The source of each function is registered with `linecache`, so tracebacks and debuggers show its lines.

What encoders do with a field that the version does not have: they leave it out, whatever it holds. (Java refuses to do
so for some fields. Here the handler decides what an old client can be told.)
"""

from __future__ import annotations

import linecache
from typing import Literal, Protocol, TypeVar, cast

from klamm.protocol.declare import schema_of
from klamm.protocol.decode_source import decode_source
from klamm.protocol.encode_source import encode_source
from klamm.protocol.source import Page
from klamm.protocol.wire import OBJECT_ROOM, Buffer

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Encoder(Protocol):
    def __call__(self, message: object, out: bytearray, /) -> None: ...


class Decoder(Protocol[T_co]):
    def __call__(self, data: Buffer, at: int = 0, room: int = ...) -> tuple[T_co, int]: ...


def encode(message: object, version: int) -> bytes:
    out = bytearray()
    encoder(type(message), version)(message, out)
    return bytes(out)


def decode(cls: type[T], version: int, data: Buffer, *, room: int = OBJECT_ROOM) -> T:
    """Bytes after the message are ignored, as Kafka does."""
    return decoder(cls, version)(data, 0, room)[0]


def encoder(cls: type, version: int) -> Encoder:
    """A function that appends a message to a bytearray; ValueError where a value does not fit its field."""
    known = _encoders.get((cls, version))
    if known is None:
        known = _encoders[cls, version] = cast(Encoder, _compile(cls, version, "encode"))
    return known


def decoder(cls: type[T], version: int) -> Decoder[T]:
    """A function that reads a message at an offset and tells where it ends; `CorruptFrame` is all it raises.

    Bytes and records are views of `data`, nothing is copied. No count or length is believed before it is held against
    the bytes left. Small elements make large objects (an empty struct is two bytes on the wire and a hundred in
    memory), so the estimated cost of all array elements of a frame is limited as well: to `room` bytes, or four times
    the data where that is more, but not more than the default. That lets 40,000 partitions of one fetch pass.
    """
    known = _decoders.get((cls, version))
    if known is None:
        known = _decoders[cls, version] = cast(Decoder[object], _compile(cls, version, "decode"))
    return cast(Decoder[T], known)


_encoders: dict[tuple[type, int], Encoder] = {}
_decoders: dict[tuple[type, int], Decoder[object]] = {}


def source(cls: type, version: int, way: Literal["encode", "decode"]) -> str:
    """What is compiled for this class and version, for people who want to read it."""
    return _page(cls, version, way).text()


def _page(cls: type, version: int, way: Literal["encode", "decode"]) -> Page:
    schema = schema_of(cls)
    low, high = schema.versions
    if not low <= version <= high:
        raise ValueError(f"{schema.name} has versions {low}-{high}, not {version}")
    return encode_source(cls, version) if way == "encode" else decode_source(cls, version)


def _compile(cls: type, version: int, way: Literal["encode", "decode"]) -> object:
    page = _page(cls, version, way)
    text = page.text()
    filename = f"<klamm {way} {cls.__name__} v{version}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), page.names)
    return page.names[way]
