"""Snapshots: an image as the records that would make it, in the framing that Kafka reads.

A control batch with the header, batches of records, a control batch with the footer. A file without its footer
is not a snapshot. Only bytes here: naming is told, writing to disk is the shell's task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from klamm.base.errors import CorruptFrame
from klamm.base.ids import OffsetAndEpoch
from klamm.metadata import framing
from klamm.metadata.image import ClusterImage
from klamm.metadata.image_records import records_of
from klamm.metadata.replay import Replayer
from klamm.protocol.messages.control import SnapshotFooterRecord, SnapshotHeaderRecord
from klamm.protocol.records.batch import batches, check_crc
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.control import ControlMessage, control_batch, read_control_messages
from klamm.protocol.records.reader import Record, read_records
from klamm.protocol.wire import Buffer

SUFFIX = ".checkpoint"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
# Readers hold one batch in memory at a time.
_RECORDS_PER_BATCH = 1024


def file_name(snapshot: OffsetAndEpoch) -> str:
    """Named by the end offset (the first that is not in it) and the epoch of the last record."""
    return f"{snapshot.offset:020}-{snapshot.epoch:010}{SUFFIX}"


def parse_name(name: str) -> OffsetAndEpoch | None:
    match = _NAME.fullmatch(name)
    return OffsetAndEpoch(int(match[1]), int(match[2])) if match else None


def write_records(
    records: Iterable[object],
    *,
    metadata_version: int,
    last_timestamp: int,
    now: int,
    epoch: int,
    voters: Sequence[ControlMessage] = (),
) -> bytes:
    """The bytes of a snapshot or of a bootstrap file; last_timestamp is that of the last record it covers."""
    header = SnapshotHeaderRecord(last_contained_log_timestamp=last_timestamp)
    out = control_batch([header, *voters], timestamp=now, base_offset=0, leader_epoch=epoch)
    offset = 1 + len(voters)
    for part in _parts(framing.encode(record, metadata_version) for record in records):
        rows = [Record(timestamp=now, value=value) for value in part]
        out += build_batch(rows, base_offset=offset, leader_epoch=epoch)
        offset += len(rows)
    footer = SnapshotFooterRecord()
    out += control_batch([footer], timestamp=now, base_offset=offset, leader_epoch=epoch)
    return bytes(out)


def write(image: ClusterImage, now: int, voters: Sequence[ControlMessage] = ()) -> bytes:
    """`voters`: the control records about the quorum, where the log has them."""
    return write_records(
        records_of(image),
        metadata_version=image.metadata_version,
        last_timestamp=image.timestamp,
        now=now,
        epoch=image.epoch,
        voters=voters,
    )


def read_batches(data: Buffer) -> Iterator[list[object]]:
    """The records, batch by batch. CorruptFrame if anything is damaged, missing or behind the footer."""
    is_open = is_closed = False
    for header, batch in batches(data):
        if is_closed or not check_crc(batch):
            raise CorruptFrame("a snapshot is damaged")
        if header.is_control:
            for message in read_control_messages(batch):
                is_open = is_open or isinstance(message, SnapshotHeaderRecord)
                is_closed = is_closed or isinstance(message, SnapshotFooterRecord)
        elif not is_open:
            raise CorruptFrame("a snapshot begins without its header")
        else:
            yield [framing.decode(record.value) for record in read_records(batch)]
    if not is_closed:
        raise CorruptFrame("a snapshot ends without its footer")


def head_of(data: Buffer) -> list[ControlMessage]:
    """The control records that a snapshot opens with: its header, and what it says of the voters."""
    for _, batch in batches(data, partial_end=True):
        return list(read_control_messages(batch))
    raise CorruptFrame("a snapshot begins without its header")


def last_timestamp_of(data: Buffer) -> int:
    for message in head_of(data):
        if isinstance(message, SnapshotHeaderRecord):
            return message.last_contained_log_timestamp
    raise CorruptFrame("a snapshot begins without its header")


def read(data: Buffer, snapshot: OffsetAndEpoch, *, cluster_id: str) -> ClusterImage:
    timestamp = last_timestamp_of(data)
    replayer = Replayer(ClusterImage(cluster_id=cluster_id))
    for records in read_batches(data):
        replayer.replay(
            records, last_offset=snapshot.offset - 1, epoch=snapshot.epoch, timestamp=timestamp
        )
    replayer.replay((), last_offset=snapshot.offset - 1, epoch=snapshot.epoch, timestamp=timestamp)
    return replayer.publish()[0]


def _parts(values: Iterable[bytes]) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    for value in values:
        part.append(value)
        if len(part) == _RECORDS_PER_BATCH:
            yield part
            part = []
    if part:
        yield part
