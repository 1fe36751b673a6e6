"""Chance as a port: the shell gives a real source, tests a seeded one. random.Random fits both."""

from __future__ import annotations

from typing import Protocol

from klamm.base.ids import Uuid

# Kafka keeps the ids 0 to 99 for itself; they begin with fifteen zero bytes.
_RESERVED = bytes(15)


class Chance(Protocol):
    def randbytes(self, n: int, /) -> bytes: ...
    def randrange(self, stop: int, /) -> int: ...


def random_uuid(chance: Chance) -> Uuid:
    """A version 4 id. One that prints with a leading dash is thrown away: a shell would take it for an option."""
    while True:
        raw = bytearray(chance.randbytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        uuid = Uuid(bytes(raw))
        if not uuid.startswith(_RESERVED) and not str(uuid).startswith("-"):
            return uuid
