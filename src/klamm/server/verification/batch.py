"""Whether a batch belongs to a transaction, and whether that is open on the partition; by the bytes of its header."""

from __future__ import annotations

from struct import Struct

from klamm.protocol.records import batch
from klamm.protocol.wire import Buffer
from klamm.replication.partition import Partition
from klamm.replication.verification import is_open

# Where the byte of the attributes is that has bits in it.
ATTRIBUTES_AT = batch.ATTRIBUTES_AT + 1
TRANSACTIONAL = batch.TRANSACTIONAL
_PRODUCER = Struct(">qh")


def is_transactional(records: Buffer | None) -> bool:
    return bool(records and len(records) > ATTRIBUTES_AT and records[ATTRIBUTES_AT] & TRANSACTIONAL)


def is_verified(frame: memoryview, at: int, size: int, partition: Partition) -> bool:
    """Whether the transaction of the batch that lies here is open on the partition: then nobody is asked."""
    if size < batch.HEADER_SIZE:
        return False
    producer_id, epoch = _PRODUCER.unpack_from(frame, at + batch.PRODUCER_ID_AT)
    return is_open(partition.log.producers, producer_id, epoch)
