"""The segments of one log, oldest first, and the questions that concern more than one of them.

Knows files and offsets; producers, leaders and settings of retention are the log's business.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from klamm.base.errors import CorruptFrame
from klamm.base.settings.topic import TopicSettings
from klamm.log import retention
from klamm.log.disk import Disk, File
from klamm.log.index.txn_index import AbortedTransaction
from klamm.log.results import TimestampedOffset
from klamm.log.scan import Found
from klamm.log.segment import CLEANED, DELETED, SNAPSHOT, SUFFIXES, SWAP, Segment
from klamm.protocol.records.checksum import crc32c
from klamm.protocol.records.reader import Record, read_records

_base_of = attrgetter("base_offset")
# A batch that decompresses to more is not searched for a timestamp.
_MOST_INFLATED = 32 << 20


class Segments:
    """At least one at any time; the last takes the appends."""

    __slots__ = (
        "_directory",
        "_disk",
        "_list",
        "_reading",
        "_removable",
        "_retired",
        "_settings",
        "active",
    )

    def __init__(
        self, disk: Disk, directory: str, settings: TopicSettings, segments: list[Segment]
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._settings = settings
        self._list = segments
        self.active = segments[-1]
        # The sealed segment that was read last, and its open file: readers tend to walk.
        self._reading: tuple[Segment, File] | None = None
        # Renamed, and to be removed at a time.
        # Out of the log: renamed just now, and those whose time is known.
        self._retired: list[Segment] = []
        self._removable: list[tuple[int, Segment]] = []

    def __len__(self) -> int:
        return len(self._list)

    @property
    def first_offset(self) -> int:
        return self._list[0].base_offset

    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._list)

    def since(self, offset: int) -> list[Segment]:
        """The segment that holds the offset, and all behind it."""
        return self._list[max(bisect_right(self._list, offset, key=_base_of) - 1, 0) :]

    def next_base(self, segment: Segment) -> int | None:
        following = bisect_right(self._list, segment.base_offset, key=_base_of)
        return self._list[following].base_offset if following < len(self._list) else None

    # Changing ----------------------------------------------------------------------------------

    def activate(self, now: int) -> Segment:
        self.active.activate(self._settings, now, self._jitter(self.active))
        return self.active

    def configure(self, settings: TopicSettings) -> None:
        self._settings = settings
        if self.active.is_active:
            self.active.configure(settings, self._jitter(self.active))

    def _jitter(self, segment: Segment) -> int:
        """Between 0 and segment.jitter.ms, so that segments do not all roll at once; the same after a restart."""
        most = self._settings.segment_jitter_ms
        return crc32c(segment.path().encode()) % (most + 1) if most else 0

    def roll(self, base_offset: int, now: int) -> Segment:
        """Seal the active segment and begin a new one."""
        if self.active.size:
            self.active.seal()
        else:
            # Nothing was written to it, and its offsets do not reach as far as the new one's.
            self.active.remove()
            self._list.pop()
        return self._begin(base_offset, now)

    def _begin(self, base_offset: int, now: int) -> Segment:
        self.active = Segment(self._disk, self._directory, base_offset)
        self.active.create()
        self._list.append(self.active)
        return self.activate(now)

    def cut(self, offset: int, now: int) -> tuple[int, File | None]:
        """Forget every batch that reaches to the offset or beyond; returns the first offset forgotten.

        And the file that was cut, to be forced to disk before anything is appended. Whole segments go for good at once,
        the newest first: if a crash brought back some of the old batches among the new ones, nothing in the files would
        tell them apart.
        """
        while len(self._list) > 1 and self._list[-1].base_offset > offset:
            self._list.pop().remove()
            self._disk.fsync_dir(self._directory)
        self._reading = None
        self.active = self._list[-1]
        self.activate(now)
        found = self.active.find(offset)
        if found is None:
            return offset, None
        self.active.cut(found.header.base_offset, found.position)
        return min(found.header.base_offset, offset), self.active.file

    def restart(self, offset: int, now: int) -> None:
        """Forget everything and begin anew at the offset, for good."""
        while self._list:
            self._list.pop().remove()
            self._disk.fsync_dir(self._directory)
        self._reading = None
        self._begin(offset, now)
        self._disk.fsync_dir(self._directory)

    def retire(self, count: int) -> list[Segment]:
        """Take the oldest segments out of the log; their files stay, renamed, until `remove_retired` takes them."""
        gone, self._list = self._list[:count], self._list[count:]
        for segment in gone:
            segment.retire()
            self._retired.append(segment)
        if gone:
            self._reading = None
        return gone

    def swap_in(self, originals: Sequence[Segment], copy: Segment) -> bool:
        """Put the compacted copy in the place of these segments; False if they are not in the log any more.

        The steps are Kafka's, and so is their order: after a crash between any two of them the files tell whether the
        originals or the copy hold, provided that renames reach the disk in the order in which they were made.
        """
        first = bisect_left(self._list, originals[0].base_offset, key=_base_of)
        following = first + len(originals)
        if self._list[first:following] != list(originals) or self.active in originals:
            return False
        copy.rename(CLEANED, SWAP)
        for segment in originals:
            # What was known of the producers where the copy begins is still true.
            is_first = segment.base_offset == copy.base_offset
            segment.retire(kind for kind in SUFFIXES if not (is_first and kind == SNAPSHOT))
            self._retired.append(segment)
        copy.rename(SWAP, "")
        self._list[first:following] = [copy]
        self._reading = None
        return True

    def remove_retired(self, now: int, delay_ms: int) -> int | None:
        """Remove files when the delay is over since they were first seen here; returns when to come again, if ever.

        So retention may go by the wall clock and the delay by one that nobody sets.
        """
        self._removable += [(now + delay_ms, segment) for segment in self._retired]
        self._retired.clear()
        while self._removable and self._removable[0][0] <= now:
            self._removable.pop(0)[1].remove(DELETED)
        return self._removable[0][0] if self._removable else None

    def count_deletable(self, *, now: int, start_offset: int, end_offset: int, up_to: int) -> int:
        return retention.count_deletable(
            self._list,
            self._settings,
            now=now,
            start_offset=start_offset,
            end_offset=end_offset,
            up_to=up_to,
        )

    def seal(self) -> list[File]:
        """Write the indexes of the active segment; returns its files, which are not forced to disk yet."""
        self._reading = None
        was_active = self.active.is_active
        self.active.seal()
        return self.active.files() if was_active else []

    def files_since(self, offset: int) -> list[File]:
        """The files that hold what was written from the offset on."""
        return [file for segment in self.since(offset) for file in segment.files()]

    def close(self) -> None:
        """Let go of files without writing anything."""
        self._reading = None
        self.active.close()

    # Searching ---------------------------------------------------------------------------------

    def file_of(self, segment: Segment) -> File:
        if segment.handle is not None:
            return segment.handle
        if self._reading is None or self._reading[0] is not segment:
            self._reading = (segment, segment.file)
        return self._reading[1]

    def find(self, offset: int) -> tuple[Segment, Found] | None:
        """The batch that holds the offset, or the first behind it."""
        for segment in self.since(offset):
            if segment.size:
                found = segment.find(offset, self.file_of(segment))
                if found is not None:
                    return segment, found
        return None

    def find_timestamp(self, timestamp: int, from_offset: int) -> TimestampedOffset | None:
        """The first record at or after the timestamp."""
        for segment in self.since(from_offset):
            if not segment.size or segment.load_max_timestamp() < timestamp:
                continue
            for found in segment.find_timestamp(timestamp, from_offset):
                for record in self._records(segment, found):
                    if record.timestamp >= timestamp and record.offset >= from_offset:
                        return TimestampedOffset(
                            record.timestamp, record.offset, found.header.leader_epoch
                        )
        return None

    def max_timestamp(self) -> TimestampedOffset | None:
        """The first record of the batch with the largest timestamp that has it."""
        segment = max(self._list, key=Segment.load_max_timestamp)
        newest = segment.load_max_timestamp()
        found = segment.find(segment.max_timestamp_offset) if newest >= 0 else None
        if found is None:
            return None
        for record in self._records(segment, found):
            if record.timestamp == newest:
                return TimestampedOffset(newest, record.offset, found.header.leader_epoch)
        return TimestampedOffset(newest, found.header.last_offset, found.header.leader_epoch)

    def _records(self, segment: Segment, found: Found) -> Iterator[Record]:
        """One by one. Of a batch that nobody can read, which is a client's own fault, its first offset is all we know."""
        batch = self.file_of(segment).pread(found.size, found.position)
        try:
            yield from read_records(batch, max_size=_MOST_INFLATED)
        except CorruptFrame:
            header = found.header
            yield Record(header.base_offset, header.max_timestamp)

    def aborted(self, start: int, end: int) -> list[AbortedTransaction]:
        """The aborted transactions that a reader of these offsets must know of."""
        touched = []
        for segment in self.since(start):
            for entry in segment.aborted():
                if entry.last_offset >= start and entry.first_offset < end:
                    touched.append(entry)
                if entry.last_stable_offset >= end:
                    return touched
        return touched
