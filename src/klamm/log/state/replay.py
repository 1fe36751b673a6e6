"""From batches that stand in a log to the state they left: producers, transactions, leader epochs.

The same functions serve an append, a start after a clean stop and a recovery, so all three end in the same state.
"""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.log.disk import File
from klamm.log.index.txn_index import AbortedTransaction
from klamm.log.scan import Found
from klamm.log.state.producers import ProducerStates
from klamm.protocol.records.batch import BatchHeader, BytesLike
from klamm.protocol.records.reader import read_records

_KEY = Struct(">hh")
_VALUE = Struct(">hi")
_ABORT, _COMMIT = 0, 1


class Marker(NamedTuple):
    """The end of a transaction, as its control record says it."""

    is_abort: bool
    coordinator_epoch: int


def read_marker(batch: BytesLike) -> Marker | None:
    """None for control records of other kinds, which concern the metadata quorum."""
    try:
        record = next(iter(read_records(batch)))
        _, kind = _KEY.unpack_from(record.key or b"\0\0\xff\xff")
        if kind not in (_ABORT, _COMMIT):
            return None
        _, coordinator_epoch = _VALUE.unpack_from(record.value or b"")
    except (CorruptFrame, StopIteration, error) as e:
        raise ApiError(ErrorCode.INVALID_RECORD, f"Not a control batch: {e}") from None
    return Marker(kind == _ABORT, coordinator_epoch)


def note_producer(
    states: ProducerStates, header: BatchHeader, batch: BytesLike
) -> AbortedTransaction | None:
    """Record what the batch says of its producer; an aborted transaction is to be put into the index."""
    if header.producer_id < 0:
        return None
    if not header.is_control:
        states.appended(
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.base_offset,
            header.last_offset,
            header.max_timestamp,
            header.is_transactional,
        )
        return None
    # Compaction leaves an empty control batch where a whole transaction is gone: it ends nothing.
    marker = read_marker(batch) if header.count else None
    if marker is None:
        return None
    completed = states.marked(
        header.producer_id,
        header.producer_epoch,
        marker.coordinator_epoch,
        offset=header.last_offset,
        timestamp=header.max_timestamp,
        is_abort=marker.is_abort,
    )
    return states.aborted_entry(completed) if completed and completed.is_aborted else None


def note_found(states: ProducerStates, file: File, found: Found) -> AbortedTransaction | None:
    """The same for a batch whose body is still on disk; only markers need it."""
    if found.header.producer_id < 0:
        return None
    batch = file.pread(found.size, found.position) if found.header.is_control else b""
    return note_producer(states, found.header, batch)
