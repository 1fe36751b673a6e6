"""Where the records of a straight produce lie in its frame, and whether they may be appended without asking anybody."""

from __future__ import annotations

from struct import Struct

from klamm.protocol.records import batch
from klamm.replication.partition import Partition
from klamm.replication.verification import is_open

_PRODUCER = Struct(">qh")
# The byte of a batch's attributes that has bits in it.
ATTRIBUTES_AT = batch.ATTRIBUTES_AT + 1


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


def is_admitted(frame: memoryview, at: int, size: int, partition: Partition) -> bool:
    """Whether the transaction of this batch is open on the partition: its first batch opens it, after a question."""
    if size < batch.HEADER_SIZE:
        return False
    producer_id, epoch = _PRODUCER.unpack_from(frame, at + batch.PRODUCER_ID_AT)
    return is_open(partition.log.producers, producer_id, epoch)
