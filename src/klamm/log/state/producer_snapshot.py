"""`N.snapshot`: what was known of the producers before offset N.

Only the last batch of a producer is kept, so after a restart just that one is recognised as a duplicate; the others
come back where the log behind the snapshot is replayed.
"""

from __future__ import annotations

from struct import Struct, error

from klamm.log.state.producers import NO_OFFSET, ProducerState, ProducerStates, SequencedBatch
from klamm.protocol.records.checksum import crc32c

_VERSION = 1
_HEAD = Struct(">hIi")
_CRC_END = 6
_ENTRY = Struct(">qhiqiqiq")
_SEQUENCE_MASK = 0x7FFFFFFF


def to_bytes(states: ProducerStates) -> bytes:
    body = len(states).to_bytes(4, "big") + b"".join(map(_entry, states))
    return _VERSION.to_bytes(2, "big") + crc32c(body).to_bytes(4, "big") + body


def _entry(state: ProducerState) -> bytes:
    last = state.batches[-1] if state.batches else None
    return _ENTRY.pack(
        state.producer_id,
        state.epoch,
        last.last_sequence if last else -1,
        last.last_offset if last else -1,
        last.last_offset - last.first_offset if last else 0,
        state.last_timestamp,
        state.coordinator_epoch,
        NO_OFFSET if state.txn_first_offset is None else state.txn_first_offset,
    )


def parse(data: bytes) -> ProducerStates | None:
    """None if the bytes are not a whole snapshot: an older one, or the log itself, must serve instead."""
    states = ProducerStates()
    try:
        version, crc, count = _HEAD.unpack_from(data)
        if version != _VERSION or crc != crc32c(memoryview(data)[_CRC_END:]):
            return None
        if len(data) != _HEAD.size + count * _ENTRY.size:
            return None
    except error:
        return None
    for fields in _ENTRY.iter_unpack(memoryview(data)[_HEAD.size :]):
        states.restore(_state(*fields))
    states.sort_open()
    return states


def _state(
    producer_id: int,
    epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    txn_first_offset: int,
) -> ProducerState:
    state = ProducerState(producer_id)
    state.epoch = epoch
    state.last_timestamp = timestamp
    state.coordinator_epoch = coordinator_epoch
    state.txn_first_offset = None if txn_first_offset < 0 else txn_first_offset
    if last_offset >= 0:
        first_sequence = (last_sequence - offset_delta) & _SEQUENCE_MASK
        first_offset = last_offset - offset_delta
        state.last_sequence = last_sequence
        state.batches.append(
            SequencedBatch(first_sequence, last_sequence, first_offset, last_offset, timestamp)
        )
    return state
