"""Where the records of a straight produce lie in its frame."""

from __future__ import annotations


def read_size(frame: memoryview, at: int) -> tuple[int, int]:
    """The length of the records (an unsigned varint, plus one on the wire), and where they begin."""
    byte = frame[at]
    value = byte & 0x7F
    shift = 7
    while byte & 0x80:
        at += 1
        byte = frame[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 35:
            return -1, at
    return value - 1, at + 1
