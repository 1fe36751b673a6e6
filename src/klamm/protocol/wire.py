"""The few primitives that compiled codecs call when a message leaves the straight path.

Fixed-width fields are read and written by `Struct` in the compiled code itself; what is left for this module are
variable-length integers, tagged fields and the ways to say that bytes make no sense. It knows no message.
"""

from __future__ import annotations

from sys import getsizeof
from typing import NoReturn

from klamm.base.errors import CorruptFrame

Buffer = bytes | bytearray | memoryview

MAX_STRING_BYTES = 0x7FFF
# Continuation bytes carry 7 bits each: a 32-bit number needs five of them and never a sixth.
_LAST_SHIFT = 28

# What the objects of one frame may cost in memory, whatever the size of the frame; see compile.decoder. It bounds the
# time as well: objects worth 16 MiB take about 100 ms.
OBJECT_ROOM = 16 * 1024 * 1024
OBJECT_BYTES_PER_FRAME_BYTE = 4
# A tagged field that is passed over takes no memory, but as much time as an object of this size.
TAG_COST = 128


def uvarint_after(data: Buffer, at: int, first: int) -> tuple[int, int]:
    """Finish an unsigned varint whose first byte, already read, has its continuation bit set."""
    value = first & 0x7F
    for shift in range(7, _LAST_SHIFT + 1, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise CorruptFrame(f"a varint of more than five bytes ends at byte {at}")


def read_uvarint(data: Buffer, at: int) -> tuple[int, int]:
    first = data[at]
    return (first, at + 1) if first < 0x80 else uvarint_after(data, at + 1, first)


def put_uvarint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def put_tagged_field(out: bytearray, tag: int, value: bytearray) -> None:
    put_uvarint(out, tag)
    put_uvarint(out, len(value))
    out += value


def tag_count(data: Buffer, at: int, first: int) -> tuple[int, int]:
    """How many tagged fields follow. Each takes a tag and a size, so two bytes at least."""
    count, at = uvarint_after(data, at, first) if first > 0x7F else (first, at)
    if count * 2 > len(data) - at:
        raise CorruptFrame(f"{count} tagged fields announced at byte {at} of {len(data)}")
    return count, at


def tag_header(data: Buffer, at: int) -> tuple[int, int, int]:
    """One tagged field: its tag, where its value begins and where it ends."""
    tag, at = read_uvarint(data, at)
    length, at = read_uvarint(data, at)
    if at + length > len(data):
        raise CorruptFrame(f"tagged field {tag} of {length} bytes at byte {at} of {len(data)}")
    return tag, at, at + length


def skip_tags(data: Buffer, at: int, first: int, room: int = OBJECT_ROOM) -> tuple[int, int]:
    """Pass over tagged fields that we do not know: a newer peer may send them to anyone.

    `first` is the first byte of their count, already read; `at` is where the rest begins. Tells where they end, and
    what is left of the room.
    """
    try:
        count, at = tag_count(data, at, first)
        room = room_after_tags(count, at, room)
        for _ in range(count):
            _, _, at = tag_header(data, at)
    except IndexError:
        raise CorruptFrame(f"tagged fields are cut off at byte {len(data)}") from None
    return at, room


def room_after_tags(count: int, at: int, room: int) -> int:
    room -= count * TAG_COST
    if room < 0:
        raise CorruptFrame(f"too many tagged fields: {count} announced at byte {at}")
    return room


def wide_text(text: str, at: int, room: int) -> int:
    """Take from the room what foreign letters cost: a single emoji makes every letter of a text four bytes wide."""
    room -= getsizeof(text)
    if room < 0:
        raise CorruptFrame(f"more text than there is room for at byte {at}")
    return room


def bad_length(field: str, length: int, at: int) -> NoReturn:
    raise CorruptFrame(f"{field}: length {length} at byte {at}")


def too_many(field: str, count: int, at: int) -> NoReturn:
    raise CorruptFrame(f"{field}: {count} elements announced at byte {at}")


def unexpected_null(field: str, at: int) -> NoReturn:
    raise CorruptFrame(f"{field}: null before byte {at}, where null is not allowed")


def wrong_tag_size(field: str, at: int, stop: int) -> NoReturn:
    raise CorruptFrame(f"{field}: tagged value ends at byte {at} instead of {stop}")


def too_long(field: str, length: int) -> NoReturn:
    raise ValueError(f"{field}: {length} bytes do not fit")
