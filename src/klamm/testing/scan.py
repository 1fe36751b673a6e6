"""What lies in the logs of a node: the other side of every invariant. It asks the node's memory, not its protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from klamm.base.ids import TopicPartition, Uuid
from klamm.protocol.records.batch import batches, check_crc
from klamm.protocol.records.control import read_end_marker
from klamm.protocol.records.reader import Record, read_records
from klamm.replication.partition import Partition
from klamm.server.node import Node

_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ScannedBatch:
    base_offset: int
    last_offset: int
    max_timestamp: int
    producer_id: int
    epoch: int
    base_sequence: int
    last_sequence: int
    is_transactional: bool
    is_control: bool
    # Set on a transaction's marker: whether it commits. Compaction leaves markers that say nothing any more.
    marker: bool | None
    records: tuple[Record, ...]
    is_whole: bool


@dataclass(slots=True)
class ScannedLog:
    place: TopicPartition
    topic_id: Uuid | None
    start: int
    end: int
    high_watermark: int
    last_stable_offset: int
    # Everything below is said to survive a power failure.
    recovery_point: int
    segment_starts: tuple[int, ...]
    is_compacted: bool
    batches: list[ScannedBatch] = field(default_factory=list)
    _by_offset: dict[int, Record] = field(default_factory=dict)
    _decisions: dict[int, bool | None] = field(default_factory=dict)

    def records(self) -> Iterator[tuple[ScannedBatch, Record]]:
        for batch in self.batches:
            if not batch.is_control:
                for record in batch.records:
                    if record.offset >= self.start:
                        yield batch, record

    def by_offset(self) -> dict[int, Record]:
        if not self._by_offset:
            self._by_offset = {record.offset: record for _, record in self.records()}
        return self._by_offset

    def decisions(self) -> dict[int, bool | None]:
        """For each offset of a transactional record: committed, aborted, or None while it is open."""
        if not self._decisions:
            self._decisions = self._decide()
        return self._decisions

    def _decide(self) -> dict[int, bool | None]:
        found: dict[int, bool | None] = {}
        open_offsets: dict[int, list[int]] = {}
        for batch in self.batches:
            if batch.marker is not None:
                for offset in open_offsets.pop(batch.producer_id, ()):
                    found[offset] = batch.marker
            elif batch.is_transactional:
                for record in batch.records:
                    found[record.offset] = None
                    open_offsets.setdefault(batch.producer_id, []).append(record.offset)
        return found


Scan = dict[TopicPartition, ScannedLog]


def scan(node: Node) -> Scan:
    """Every partition but the internal ones. Nothing is changed, and nothing of it can be seen from outside."""
    return {
        partition.name: _scan(partition)
        for partition in node.broker.replicas
        if not partition.name.topic.startswith("__")
    }


def _scan(partition: Partition) -> ScannedLog:
    log = partition.log
    found = ScannedLog(
        partition.name,
        log.topic_id,
        log.start_offset,
        log.end_offset,
        partition.high_watermark,
        partition.last_stable_offset,
        log.recovery_point,
        tuple(segment.base_offset for segment in log.segments()),
        "compact" in partition.settings.cleanup_policy,
    )
    offset = log.start_offset
    while offset < log.end_offset:
        part = log.read(offset, _READ_BYTES, up_to=log.end_offset)
        if part is None:
            break
        for header, batch in batches(part.read(), partial_end=True):
            marker = read_end_marker(batch) if header.is_control else None
            found.batches.append(
                ScannedBatch(
                    header.base_offset,
                    header.last_offset,
                    header.max_timestamp,
                    header.producer_id,
                    header.producer_epoch,
                    header.base_sequence,
                    header.last_sequence,
                    header.is_transactional,
                    header.is_control,
                    None if marker is None else marker.is_commit,
                    () if header.is_control else tuple(read_records(batch)),
                    check_crc(batch),
                )
            )
            offset = header.last_offset + 1
    return found
