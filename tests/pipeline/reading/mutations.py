"""Valid values, damaged in every way in which values are damaged. The same in every run."""

import struct
from collections.abc import Iterator, Sequence
from random import Random

REGISTRY_HEADER = b"\x00" + struct.pack(">I", 42)


def mutated(values: Sequence[bytes], *, seed: int = 13) -> list[bytes]:
    """The values themselves come first; none twice."""
    found = dict.fromkeys(values)
    chance = Random(seed)
    for value in values:
        found.update(dict.fromkeys(_damaged(value, chance)))
    return list(found)


def _damaged(value: bytes, chance: Random) -> Iterator[bytes]:
    for bit in range(8 * len(value)):
        flipped = bytearray(value)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)
    for position in range(len(value)):
        yield value[:position]
        yield value[position:]
        yield value[:position] + value[position + 1 :]
        yield value[:position] + bytes([chance.randrange(256)]) + value[position:]
        yield value[:position] + b"\xff" * 4 + value[position + 4 :]
    yield from (value + end for end in (b"\x00", b"\x01", b" ", b"x", b"}", b",1", value))
    yield REGISTRY_HEADER + value
