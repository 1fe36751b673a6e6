"""One round of compaction over one log, in steps that a shell divides between its loop and a worker thread.

On the loop: `Cleaning(...)`, and `Log.swap_in` after each copy. In a worker: `build_map`, then `copy` for each group. The
worker sees only sealed segments, which nobody changes; if retention or a truncation takes them away meanwhile, the
swap is refused and the copy thrown away. Offsets never change, so readers notice nothing but gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from klamm.log.log import Log
from klamm.log.results import DamagedLog
from klamm.log.scan import Found
from klamm.log.segment import CLEANED, Segment
from klamm.log.state.producers import ProducerStates
from klamm.protocol.records.batch import BytesLike, check_crc
from klamm.protocol.records.reader import read_keys

# Told how many bytes were read or written since it was last told. It may wait, and it may raise to stop the round.
Pace = Callable[[int], None]


class Limits(NamedTuple):
    map_bytes: int
    load_factor: float = 0.9


class Replacement(NamedTuple):
    """A copy that is safe on disk, and the segments whose place it takes."""

    originals: list[Segment]
    copy: Segment

    def discard(self) -> None:
        self.copy.remove(CLEANED)


class Cleaning:
    """`end_offset`: where the next round begins, once `build_map` has run."""

    def __init__(
        self, disk: Disk, log: Log, settings: TopicSettings, dirt: Dirt, *, now: int, limits: Limits
    ) -> None:
        self._disk = disk
        self._directory = log.directory
        self._settings = settings
        self._dirt = dirt
        self._now = now
        self._limits = limits
        # All of them: the marker of a transaction may stand behind what is cleaned.
        self._segments = log.segments()
        self._last_batches = last_batches(log.producers)
        self._filter: BatchFilter
        self._transactions: Transactions
        self.end_offset = dirt.first_dirty_offset

    # Pass one ----------------------------------------------------------------------------------

    def build_map(self, pace: Pace) -> None:
        """Read the dirty part, and learn the last offset of each key in it, or in as much of it as fits."""
        dirt = self._dirt
        aborted = self._aborted()
        offsets = OffsetMap(
            most_keys=self._count_dirty_records(),
            max_bytes=self._limits.map_bytes,
            load_factor=self._limits.load_factor,
        )
        transactions = Transactions(aborted)
        for segment, next_base in self._cleanable():
            if next_base <= dirt.first_dirty_offset:
                continue
            if not self._map_segment(segment, offsets, transactions, pace):
                break
            offsets.latest_offset = next_base - 1
        self.end_offset = max(offsets.latest_offset + 1, dirt.first_dirty_offset)
        self._transactions = Transactions(aborted)
        self._filter = BatchFilter(
            offsets,
            self._transactions,
            self._last_batches,
            end_offset=dirt.end_offset,
            now=self._now,
            delete_retention_ms=self._settings.delete_retention_ms,
        )

    def _cleanable(self) -> list[tuple[Segment, int]]:
        """The segments below the end, each with the base offset of the next."""
        bases = [*(segment.base_offset for segment in self._segments[1:]), self._dirt.end_offset]
        pairs = zip(self._segments, bases, strict=True)
        return [(s, base) for s, base in pairs if s.base_offset < self._dirt.end_offset]

    def _count_dirty_records(self) -> int:
        """By headers alone: it is what keeps the map of a small log small."""
        return sum(
            found.header.count
            for segment, next_base in self._cleanable()
            if next_base > self._dirt.first_dirty_offset
            for found in scan.headers(segment.file, 0, segment.size)
        )

    def _aborted(self) -> list[AbortedTransaction]:
        """By now every transaction with data below the end is decided, and the index says which were aborted."""
        entries = (entry for segment in self._segments for entry in segment.aborted())
        return [entry for entry in entries if entry.first_offset < self._dirt.end_offset]

    def _map_segment(
        self, segment: Segment, offsets: OffsetMap, transactions: Transactions, pace: Pace
    ) -> bool:
        """False if the map is full."""
        start = self._dirt.first_dirty_offset
        for found, batch in _walk(segment, pace):
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

    def groups(self) -> list[list[Segment]]:
        """What to copy, one after the other, after the map was built; nothing if no dirt was learnt of."""
        if self.end_offset == self._dirt.first_dirty_offset:
            return []
        touched = [(s, end) for s, end in self._cleanable() if s.base_offset < self.end_offset]
        return grouping.group(touched, self._settings)

    def copy(self, group: list[Segment], pace: Pace) -> Replacement | None:
        """Write what stays of these segments to a new one; None if that is all of it."""
        copy = Copy(
            self._disk,
            self._directory,
            group[0].base_offset,
            self._settings.index_interval_bytes,
        )
        is_changed = len(group) > 1
        try:
            for segment in group:
                for found, batch in _walk(segment, pace):
                    rest = self._rest_of(segment, found, batch)
                    if rest is not batch:
                        is_changed = True
                    if rest is not None:
                        copy.add(rest)
                        pace(len(rest))
            aborted = self._transactions.take_indexed()
            if not is_changed and aborted == group[0].aborted():
                copy.discard()
                return None
            modified_ms = self._disk.modified_ms(group[-1].path())
            return Replacement(group, copy.finish(aborted, modified_ms))
        except BaseException:
            copy.discard()
            raise

    def _rest_of(self, segment: Segment, found: Found, batch: memoryview) -> BytesLike | None:
        try:
            return self._filter.apply(found.header, batch)
        except CorruptFrame:
            raise DamagedLog(segment.path(), found.position) from None


def last_batches(producers: ProducerStates) -> dict[int, LastBatch]:
    return {
        state.producer_id: LastBatch(
            state.batches[-1].last_offset if state.batches else None, state.epoch
        )
        for state in producers
    }


def _walk(segment: Segment, pace: Pace) -> Iterator[tuple[Found, memoryview]]:
    """All batches of a sealed segment. Damage ends the round: a copy would make it look sound."""
    position = 0
    for found, batch in scan.batches(segment.file, 0, segment.size):
        if not check_crc(batch):
            break
        pace(found.size)
        yield found, batch
        position = found.position + found.size
    if position != segment.size:
        raise DamagedLog(segment.path(), position)
