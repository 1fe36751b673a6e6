"""Control batches: the ends of transactions, and what KRaft writes between the records of its own log.

Each record's key says what it is (`int16 version, int16 type`), its value is a message of messages/control.py.
Consumers never see them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from klamm.base.errors import CorruptFrame
from klamm.protocol.compile import decode, encode
from klamm.protocol.declare import schema_of
from klamm.protocol.messages.control import (
    EndTxnMarker,
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from klamm.protocol.records.batch import NO_LEADER_EPOCH, BytesLike, read_header
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, read_records

ControlMessage = (
    LeaderChangeMessage
    | SnapshotHeaderRecord
    | SnapshotFooterRecord
    | KRaftVersionRecord
    | VotersRecord
)


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndMarker(NamedTuple):
    """How a transaction ended on this partition, and in which epoch of its coordinator."""

    is_commit: bool
    coordinator_epoch: int


_KEY = Struct(">hh")
_KEY_VERSION = 0
_MARKER_VERSION = 0
_VERSION = Struct(">h")

_MESSAGES: dict[ControlType, type[ControlMessage]] = {
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}
_TYPES = {message: control_type for control_type, message in _MESSAGES.items()}


def end_marker_batch(
    marker: EndMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """What a transaction's coordinator has written to each partition that took part."""
    control_type = ControlType.COMMIT if marker.is_commit else ControlType.ABORT
    body = encode(EndTxnMarker(coordinator_epoch=marker.coordinator_epoch), _MARKER_VERSION)
    record = Record(
        timestamp=timestamp,
        key=_KEY.pack(_KEY_VERSION, control_type),
        value=_VERSION.pack(_MARKER_VERSION) + body,
    )
    return build_batch(
        [record],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def control_batch(
    messages: Sequence[ControlMessage],
    *,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """KRaft's control messages as one batch. A snapshot, for one, opens with header, version and voters."""
    records = [
        Record(
            timestamp=timestamp,
            key=_KEY.pack(_KEY_VERSION, _TYPES[type(message)]),
            # The message has its version as a field of its own; written before it too, Java refuses it.
            value=encode(message, message.version),
        )
        for message in messages
    ]
    return build_batch(records, base_offset=base_offset, leader_epoch=leader_epoch, control=True)


def read_end_marker(batch: BytesLike) -> EndMarker | None:
    """None if the control batch is not about a transaction."""
    record = next(_control_records(batch), None)
    if record is None:
        return None
    control_type = type_of(record)
    if control_type not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    value = record.value or b""
    body = decode(EndTxnMarker, _version_of(value, EndTxnMarker), value[_VERSION.size :])
    return EndMarker(control_type is ControlType.COMMIT, body.coordinator_epoch)


def read_control_messages(batch: BytesLike) -> Iterator[ControlMessage]:
    """KRaft's messages in a control batch; types that came after us are passed over."""
    for record in _control_records(batch):
        control_type = type_of(record)
        if control_type is not None and control_type in _MESSAGES:
            message = _MESSAGES[control_type]
            value = record.value or b""
            yield decode(message, _version_of(value, message), value)


def type_of(record: Record) -> ControlType | None:
    """What a record of a control batch is; None if its type came after us."""
    key = record.key or b""
    if len(key) < _KEY.size:
        raise CorruptFrame(f"a control record's key has {len(key)} bytes")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptFrame(f"a control record's key of version {version}")
    return ControlType(number) if 0 <= number < len(ControlType) else None


def _control_records(batch: BytesLike) -> Iterator[Record]:
    if not read_header(batch).is_control:
        raise CorruptFrame("not a control batch")
    return read_records(batch)


def _version_of(value: bytes, message: type[EndTxnMarker] | type[ControlMessage]) -> int:
    """The version to decode with; of one newer than ours we read the part we know, as Java does."""
    if len(value) < _VERSION.size:
        raise CorruptFrame("a control record's value without a version")
    version: int = _VERSION.unpack_from(value)[0]
    lowest, highest = schema_of(message).versions
    if version < lowest:
        raise CorruptFrame(f"{message.__name__} of version {version}")
    return min(version, highest)
