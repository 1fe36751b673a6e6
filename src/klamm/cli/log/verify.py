"""`klamm log verify`: does a partition's directory hold what it should?

Checked: checksums, offsets and epochs of every batch; that each index entry leads to where a reader must begin; aborted
transactions against their markers; producer snapshots; the leader epoch history against the batches.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from klamm.base.errors import CorruptFrame
from klamm.base.ids import Uuid
from klamm.cli.log import files
from klamm.cli.log.files import Batch
from klamm.cli.output import Row
from klamm.log.index import offset_index, time_index, txn_index
from klamm.log.state import producer_snapshot
from klamm.log.state.epochs import LeaderEpochs
from klamm.protocol.records.batch import PartialBatch, check_crc
from klamm.protocol.records.control import read_end_marker
from klamm.protocol.records.reader import read_records


@dataclass(slots=True)
class Report:
    """What was found in one partition."""

    directory: Path
    segments: int = 0
    batches: int = 0
    records: int = 0
    start_offset: int | None = None
    end_offset: int = 0
    problems: list[Row] = field(default_factory=list)
    # The last segment ends within a batch.
    ends_early: bool = False

    @property
    def is_torn(self) -> bool:
        """Nothing is wrong but the end, which a broker that starts cuts off. An index that knows of more says otherwise."""
        return self.ends_early and len(self.problems) == 1

    def blame(self, path: Path, problem: str) -> None:
        self.problems.append({"file": str(path), "problem": problem})

    def summary(self) -> Row:
        return {
            "partition": self.directory.name,
            "segments": self.segments,
            "batches": self.batches,
            "records": self.records,
            "start_offset": self.start_offset,
            "end_offset": self.end_offset,
            "problems": len(self.problems),
        }


@dataclass(slots=True)
class Map:
    """Where the batches of one segment lie. Arrays, not objects: a segment can hold millions."""

    base: int
    positions: array[int] = field(default_factory=lambda: array("q"))
    base_offsets: array[int] = field(default_factory=lambda: array("q"))
    last_offsets: array[int] = field(default_factory=lambda: array("q"))
    # The largest timestamp up to and including the batch.
    running_max: array[int] = field(default_factory=lambda: array("q"))
    # Offset of an abort marker -> its producer.
    aborts: dict[int, int] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        header = batch.header
        self.positions.append(batch.position)
        self.base_offsets.append(header.base_offset)
        self.last_offsets.append(header.last_offset)
        before = self.running_max[-1] if self.running_max else -1
        self.running_max.append(max(before, header.max_timestamp))


def verify(directory: Path, *, deep: bool) -> Report:
    report = Report(directory)
    epochs = _read_epochs(directory, report)
    for path in files.files_in(directory):
        if path.suffix == files.LOG:
            segment = _check_segment(path, epochs, report, deep=deep)
            _check_offset_index(path.with_suffix(files.INDEX), segment, report)
            _check_time_index(path.with_suffix(files.TIME_INDEX), segment, report)
            _check_txn_index(path.with_suffix(files.TXN_INDEX), segment, report)
        elif path.suffix == files.SNAPSHOT:
            _check_metadata_snapshot(path, report)
        elif path.suffix == files.PRODUCERS:
            if producer_snapshot.parse(bytes(files.contents(path))) is None:
                report.blame(path, "not a whole producer snapshot, or its checksum is wrong")
        elif path.name == files.PARTITION:
            _check_topic_id(path, report)
    return report


def _read_epochs(directory: Path, report: Report) -> LeaderEpochs:
    path = directory / files.EPOCHS
    if not path.exists():
        return LeaderEpochs()
    try:
        epochs = LeaderEpochs.parse(bytes(files.contents(path)).decode())
    except (ValueError, TypeError) as error:
        report.blame(path, f"not a leader epoch checkpoint: {error}")
        return LeaderEpochs()
    for earlier, later in zip(epochs.entries, epochs.entries[1:], strict=False):
        if later.epoch <= earlier.epoch or later.start_offset < earlier.start_offset:
            report.blame(path, f"{later} does not follow {earlier}")
    return epochs


def _check_segment(path: Path, epochs: LeaderEpochs, report: Report, *, deep: bool) -> Map:
    segment = Map(files.base_offset_of(path))
    report.segments += 1
    if segment.base < report.end_offset:
        report.blame(
            path, f"begins at {segment.base}, but the segment before it ends at {report.end_offset}"
        )
    report.end_offset = max(segment.base, report.end_offset)
    epoch = -1
    # Only the last segment can be torn.
    report.ends_early = False
    try:
        for batch in files.walk(files.contents(path)):
            for problem in _misplaced(batch, report.end_offset, epoch, epochs):
                report.blame(path, f"byte {batch.position}: {problem}")
            _check_batch(path, batch, segment, report, deep=deep)
            report.end_offset = max(batch.header.last_offset + 1, report.end_offset)
            report.batches += 1
            report.records += batch.header.count
            if report.start_offset is None:
                report.start_offset = batch.header.base_offset
            epoch = batch.header.leader_epoch
    except PartialBatch as error:
        report.ends_early = True
        report.blame(path, str(error))
    except CorruptFrame as error:
        report.blame(path, str(error))
    return segment


def _misplaced(
    batch: Batch, expected_offset: int, last_epoch: int, epochs: LeaderEpochs
) -> Iterator[str]:
    offset, epoch = batch.header.base_offset, batch.header.leader_epoch
    if offset < expected_offset:
        yield f"offset {offset} comes after {expected_offset - 1}"
    if epoch < last_epoch:
        yield f"leader epoch {epoch} comes after {last_epoch}"
    # Below the log's start, which DeleteRecords moves into the middle of a segment, the history knows nothing.
    known = epochs.epoch_of(offset)
    if known is not None and known != epoch:
        yield f"epoch {epoch}, but {files.EPOCHS} says {known}"


def _check_batch(path: Path, batch: Batch, segment: Map, report: Report, *, deep: bool) -> None:
    segment.add(batch)
    if not check_crc(batch.data):
        report.blame(
            path,
            f"byte {batch.position}: the checksum of the batch at offset {batch.header.base_offset} is wrong",
        )
        return
    try:
        if batch.header.is_control:
            marker = read_end_marker(batch.data)
            if marker is not None and not marker.is_commit:
                segment.aborts[batch.header.base_offset] = batch.header.producer_id
        elif deep:
            for _ in read_records(batch.data):
                pass
    except CorruptFrame as error:
        report.blame(path, f"byte {batch.position}: {error}")


def _check_offset_index(path: Path, segment: Map, report: Report) -> None:
    if not path.exists():
        return
    previous = (-1, -1)
    for offset, position in files.index_entries(files.contents(path), offset_index.ENTRY):
        if offset <= previous[0] or position <= previous[1]:
            report.blame(
                path,
                f"the entry {offset}, {position} does not rise above {previous[0]}, {previous[1]}",
            )
            return
        previous = (offset, position)
        at = bisect_left(segment.positions, position)
        if at == len(segment.positions) or segment.positions[at] != position:
            report.blame(
                path,
                f"offset {segment.base + offset} leads to byte {position}, where no batch begins",
            )
        elif not segment.base_offsets[at] <= segment.base + offset <= segment.last_offsets[-1]:
            report.blame(
                path,
                f"offset {segment.base + offset} leads to the batch at {segment.base_offsets[at]}",
            )


def _check_time_index(path: Path, segment: Map, report: Report) -> None:
    if not path.exists():
        return
    previous = (-1, -1)
    for timestamp, relative in files.index_entries(files.contents(path), time_index.ENTRY):
        if timestamp <= previous[0] or relative <= previous[1]:
            report.blame(
                path,
                f"the entry {timestamp}, {relative} does not rise above {previous[0]}, {previous[1]}",
            )
            return
        previous = (timestamp, relative)
        offset = segment.base + relative
        before = bisect_right(segment.last_offsets, offset)
        if not segment.last_offsets or offset > segment.last_offsets[-1]:
            report.blame(path, f"offset {offset} is not in the segment")
        elif before and segment.running_max[before - 1] > timestamp:
            report.blame(path, f"a record before offset {offset} is later than {timestamp}")


def _check_txn_index(path: Path, segment: Map, report: Report) -> None:
    if not path.exists():
        return
    for aborted in txn_index.parse(bytes(files.contents(path))):
        if segment.aborts.get(aborted.last_offset) != aborted.producer_id:
            report.blame(
                path,
                f"no abort marker of producer {aborted.producer_id} at offset {aborted.last_offset}",
            )
        elif aborted.first_offset > aborted.last_offset:
            report.blame(
                path, f"a transaction from {aborted.first_offset} to {aborted.last_offset}"
            )


def _check_metadata_snapshot(path: Path, report: Report) -> None:
    try:
        for batch in files.walk(files.contents(path)):
            if not check_crc(batch.data):
                report.blame(path, f"byte {batch.position}: the checksum is wrong")
    except CorruptFrame as error:
        report.blame(path, str(error))


def _check_topic_id(path: Path, report: Report) -> None:
    text = bytes(files.contents(path)).decode(errors="replace")
    try:
        Uuid.parse(text.partition("topic_id:")[2].strip())
    except ValueError as error:
        report.blame(path, f"no topic id: {error}")
