"""One round of compaction over one log, in two halves.

`Round` lives where the log lives: it says what is to be done and puts the copies in their place. `Cleaning` does the work
and may be in a thread or a process of its own, because all it needs is in a `Job` and on the disk: it reads only sealed
segments, which nobody changes, and writes only files that nobody knows yet. If retention or a truncation takes the
segments away meanwhile, the swap is refused. Offsets never change, so readers notice nothing but gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from klamm.base.errors import CorruptFrame
from klamm.base.settings.topic import TopicSettings
from klamm.log import scan
from klamm.log.compaction import grouping
from klamm.log.compaction.batch_filter import BatchFilter, LastBatch
from klamm.log.compaction.copying import Copy
from klamm.log.compaction.offset_map import OffsetMap
from klamm.log.compaction.selection import Dirt
from klamm.log.compaction.transactions import Transactions
from klamm.log.disk import Disk
from klamm.log.index.txn_index import AbortedTransaction
from klamm.log.results import DamagedLog
from klamm.log.scan import Found
from klamm.log.segment import Segment
from klamm.protocol.records.batch import check_crc
from klamm.protocol.records.reader import read_keys

# Told how many bytes were read or written since it was last told. It may wait, and it may raise to stop the round.
Pace = Callable[[int], None]


class Part(NamedTuple):
    """A segment, as far as a stranger must know it."""

    base_offset: int
    size: int
    has_aborted: bool


class Job(NamedTuple):
    directory: str
    settings: TopicSettings
    dirt: Dirt
    # All of the log: the marker of a transaction may stand behind what is cleaned.
    parts: Sequence[Part]
    last_batches: Mapping[int, LastBatch]
    now: int
    map_bytes: int
    load_factor: float


class Copied(NamedTuple):
    """A copy that is safe on disk, and the base offsets of the segments whose place it takes."""

    originals: Sequence[int]
    part: Part


class Cleaning:
    """First `build_map`, then `copy` each of the `groups`. `end_offset`: where the next round begins."""

    def __init__(self, disk: Disk, job: Job, pace: Pace) -> None:
        self._disk = disk
        self._job = job
        self._pace = pace
        self._segments = [segment_of(disk, job.directory, part) for part in job.parts]
        self._filter: BatchFilter
        self._transactions: Transactions
        self.end_offset = job.dirt.first_dirty_offset

    # Pass one ----------------------------------------------------------------------------------

    def build_map(self) -> None:
        """Read the dirty part, and learn the last offset of each key in it, or in as much of it as fits."""
        job, dirt = self._job, self._job.dirt
        aborted = self._aborted()
        offsets = OffsetMap(
            most_keys=self._count_dirty_records(),
            max_bytes=job.map_bytes,
            load_factor=job.load_factor,
        )
        transactions = Transactions(aborted)
        for segment, next_base in self._dirty():
            if not self._map_segment(segment, offsets, transactions):
                break
            offsets.latest_offset = next_base - 1
        self.end_offset = max(offsets.latest_offset + 1, dirt.first_dirty_offset)
        self._transactions = Transactions(aborted)
        self._filter = BatchFilter(
            offsets,
            self._transactions,
            job.last_batches,
            end_offset=dirt.end_offset,
            now=job.now,
            delete_retention_ms=job.settings.delete_retention_ms,
        )

    def _cleanable(self) -> list[tuple[Segment, int]]:
        """The segments below the end, each with the base offset of the next."""
        end = self._job.dirt.end_offset
        bases = [*(segment.base_offset for segment in self._segments[1:]), end]
        pairs = zip(self._segments, bases, strict=True)
        return [(segment, base) for segment, base in pairs if segment.base_offset < end]

    def _dirty(self) -> list[tuple[Segment, int]]:
        first = self._job.dirt.first_dirty_offset
        return [(segment, base) for segment, base in self._cleanable() if base > first]

    def _aborted(self) -> list[AbortedTransaction]:
        """By now every transaction with data below the end is decided, and the index says which were aborted."""
        entries = (entry for segment in self._segments for entry in segment.aborted())
        return [entry for entry in entries if entry.first_offset < self._job.dirt.end_offset]

    def _count_dirty_records(self) -> int:
        """By headers alone: it is what keeps the map of a small log small."""
        return sum(
            found.header.count
            for segment, _ in self._dirty()
            for found in scan.headers(segment.file, 0, segment.size)
        )

    def _map_segment(
        self, segment: Segment, offsets: OffsetMap, transactions: Transactions
    ) -> bool:
        """False if the map is full."""
        start = self._job.dirt.first_dirty_offset
        for found, batch in self._walk(segment):
            header = found.header
            if header.last_offset < start:
                continue
            if not (header.is_control or transactions.is_aborted(header)):
                try:
                    if not offsets.put_all(read_keys(batch), start):
                        return False
                except CorruptFrame:
                    raise DamagedLog(segment.path(), found.position) from None
            offsets.latest_offset = header.last_offset
        return True

    # Pass two ----------------------------------------------------------------------------------

    def groups(self) -> list[list[int]]:
        """What to copy, one after the other, by base offsets; nothing if no dirt was learnt of."""
        if self.end_offset == self._job.dirt.first_dirty_offset:
            return []
        touched = [(s, end) for s, end in self._cleanable() if s.base_offset < self.end_offset]
        groups = grouping.group(touched, self._job.settings)
        return [[segment.base_offset for segment in group] for group in groups]

    def copy(self, group: Sequence[int]) -> Copied | None:
        """Write what stays of these segments to a new one; None if that is all of it."""
        originals = [segment for segment in self._segments if segment.base_offset in group]
        interval = self._job.settings.index_interval_bytes
        copy = Copy(self._disk, self._job.directory, group[0], interval)
        try:
            is_changed = self._copy_into(copy, originals)
            aborted = self._transactions.take_indexed()
            if len(originals) == 1 and not is_changed and aborted == originals[0].aborted():
                copy.discard()
                return None
            segment = copy.finish(aborted, self._disk.modified_ms(originals[-1].path()))
        except BaseException:
            copy.discard()
            raise
        return Copied(group, part_of(segment))

    def _copy_into(self, copy: Copy, originals: Sequence[Segment]) -> bool:
        """Whether anything is different."""
        is_changed = False
        for segment in originals:
            for found, batch in self._walk(segment):
                try:
                    rest = self._filter.apply(found.header, batch)
                except CorruptFrame:
                    raise DamagedLog(segment.path(), found.position) from None
                is_changed |= rest is not batch
                if rest is not None:
                    copy.add(rest)
                    self._pace(len(rest))
        return is_changed

    def _walk(self, segment: Segment) -> Iterator[tuple[Found, memoryview]]:
        """All batches of a sealed segment. Damage ends the round: a copy would make it look sound."""
        position = 0
        for found, batch in scan.batches(segment.file, 0, segment.size):
            # Deviation: Kafka does not look.
            if not check_crc(batch):
                break
            self._pace(found.size)
            yield found, batch
            position = found.position + found.size
        if position != segment.size:
            raise DamagedLog(segment.path(), position)


def part_of(segment: Segment) -> Part:
    return Part(segment.base_offset, segment.size, segment.has_aborted)


def segment_of(disk: Disk, directory: str, part: Part) -> Segment:
    segment = Segment(disk, directory, part.base_offset, part.size)
    segment.has_aborted = part.has_aborted
    return segment
