"""The aborted transactions whose marker stands in a segment: `N.txnindex`, 34 bytes an entry.

Readers with isolation read_committed are told of them, so that they can drop the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

ENTRY = Struct(">hqqqq")
ENTRY_SIZE = ENTRY.size
_VERSION = 0


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    # The offset of the marker.
    last_offset: int
    # The last stable offset once this transaction was over: below it, no later entry can matter.
    last_stable_offset: int

    def to_bytes(self) -> bytes:
        return ENTRY.pack(_VERSION, *self)


def parse(data: bytes) -> Iterator[AbortedTransaction]:
    """The whole entries of a file, in the order of their markers; a torn last one is left out."""
    for fields in ENTRY.iter_unpack(data[: len(data) - len(data) % ENTRY_SIZE]):
        yield AbortedTransaction(*fields[1:])
