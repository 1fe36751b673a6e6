"""One segment: a file of batches back to back, and the indexes that lead into it.

The last segment of a log is active once something was appended: it keeps its file open and its indexes in memory. All
others are sealed: they hold nothing open and are searched on disk. A segment knows nothing of other segments, of
producers or of leaders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from klamm.base.settings.topic import TopicSettings
from klamm.log import scan
from klamm.log.disk import Disk, File
from klamm.log.index import offset_index, time_index, txn_index
from klamm.log.index.offset_index import OffsetIndex
from klamm.log.index.time_index import TimeIndex
from klamm.log.index.txn_index import AbortedTransaction
from klamm.log.scan import Found

LOG, INDEX, TIME_INDEX, TXN_INDEX = ".log", ".index", ".timeindex", ".txnindex"
# What was known of the producers where the segment begins: it comes and goes with the segment.
SNAPSHOT = ".snapshot"
SUFFIXES = (LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT)
DELETED = ".deleted"
# A compacted copy: being written, then whole and on its way to its place.
CLEANED, SWAP = ".cleaned", ".swap"

_NEVER = 1 << 63
_MAX_RELATIVE_OFFSET = (1 << 31) - 1


class Segment:
    """The public attributes are read and written by every append, so they are plain slots."""

    __slots__ = (
        "_created",
        "_directory",
        "_disk",
        "_index",
        "_knows_max_timestamp",
        "_max_entries",
        "_roll_ms",
        "_saved",
        "_time_index",
        "base_offset",
        "byte_limit",
        "clock_limit",
        "handle",
        "has_aborted",
        "index_interval_bytes",
        "max_timestamp",
        "max_timestamp_offset",
        "offset_limit",
        "size",
        "timestamp_limit",
        "unindexed_bytes",
        "write",
    )

    write: Callable[[bytes | bytearray | memoryview, int], None]

    def __init__(self, disk: Disk, directory: str, base_offset: int, size: int = 0) -> None:
        self._disk = disk
        self._directory = directory
        self.base_offset = base_offset
        self.size = size
        # Below any size: the first append finds no room here, and that is where it gets activated.
        self.byte_limit = -1
        self.timestamp_limit = self.clock_limit = _NEVER
        self.offset_limit = base_offset + _MAX_RELATIVE_OFFSET
        self.max_timestamp = -1
        self.max_timestamp_offset = base_offset
        self._knows_max_timestamp = size == 0
        self.unindexed_bytes = 0
        self.index_interval_bytes = 0
        self.has_aborted = False
        self.handle: File | None = None
        self._index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        # Of how many entries of the indexes in memory the files have the same; none if they hold something else.
        self._saved = (0, 0)
        self._max_entries = 0
        self._roll_ms = _NEVER
        self._created = 0

    def path(self, suffix: str = LOG) -> str:
        return f"{self._directory}/{self.base_offset:020d}{suffix}"

    @property
    def file(self) -> File:
        """Only an active segment keeps its file open; whoever reads a sealed one holds it while it is needed."""
        return self.handle if self.handle is not None else self._disk.open(self.path())

    def file_size(self, suffix: str) -> int:
        path = self.path(suffix)
        return self._disk.file_size(path) if self._disk.exists(path) else 0

    def files(self) -> list[File]:
        """What there is on disk. The indexes of an active segment are not."""
        if self.handle is None:
            return [self._disk.open(path) for path in self._paths(SUFFIXES)]
        return [self.handle, *map(self._disk.open, self._paths((TXN_INDEX, SNAPSHOT)))]

    @property
    def is_active(self) -> bool:
        return self._index is not None

    # Appending ---------------------------------------------------------------------------------

    def create(self) -> None:
        """Make the files. The indexes stay empty until the segment is sealed; Kafka would complain if they were absent."""
        for path in map(self.path, (LOG, INDEX, TIME_INDEX)):
            self._disk.open(path, create=True).close()

    def activate(self, settings: TopicSettings, now: int, jitter_ms: int = 0) -> None:
        """Open the file, load the indexes, and learn when to roll: from here on the segment takes appends."""
        if self._index is None:
            self.handle = self._disk.open(self.path(), create=True)
            self.write = self.handle.pwrite
            self.load_max_timestamp()
            self._index, self._time_index = self._load_indexes()
            self._saved = (0, 0)
            self.unindexed_bytes = self.size - self._index.last_position()
            self._created = now
        self.configure(settings, jitter_ms)

    def configure(self, settings: TopicSettings, jitter_ms: int = 0) -> None:
        """Settings may change at any time; limits that follow from them are worked out here, not per append."""
        self.index_interval_bytes = settings.index_interval_bytes
        self._max_entries = settings.segment_index_bytes // time_index.ENTRY_SIZE - 1
        self.byte_limit = settings.segment_bytes if self._has_index_room() else 0
        longest_ms = settings.segment_ms
        if "compact" in settings.cleanup_policy:
            # Only a sealed segment can be compacted.
            longest_ms = min(longest_ms, settings.max_compaction_lag_ms)
        self._roll_ms = longest_ms - min(jitter_ms, longest_ms)
        if self.size:
            self.begin(self.first_timestamp())

    def begin(self, timestamp: int) -> None:
        """The first batch sets when the segment is too old. Without a timestamp the clock decides."""
        self.timestamp_limit = timestamp + self._roll_ms if timestamp >= 0 else _NEVER
        self.clock_limit = self._created + self._roll_ms if timestamp < 0 else _NEVER

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Write behind the end; `count` follows."""
        try:
            self.write(data, self.size)
        except OSError:
            self.drop_torn_write()
            raise

    def count(self, size: int, last_offset: int, timestamp: int) -> None:
        """Note one batch that was just written behind the end."""
        position = self.size
        self.size = position + size
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.max_timestamp_offset = last_offset
        if self.unindexed_bytes > self.index_interval_bytes:
            self._add_index_entry(last_offset, position)
        elif not position:
            self.begin(timestamp)
        self.unindexed_bytes += size

    def _add_index_entry(self, last_offset: int, position: int) -> None:
        assert self._index is not None
        assert self._time_index is not None
        self._index.append(last_offset - self.base_offset, position)
        self._time_index.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
        self.unindexed_bytes = 0
        if not self._has_index_room():
            self.byte_limit = 0  # a full index closes the segment at the next append

    def _has_index_room(self) -> bool:
        return self._index is None or len(self._index) < self._max_entries

    def drop_torn_write(self) -> None:
        """After a failed write: a later clean stop would vouch for the bytes behind the end."""
        try:
            self.file.truncate(self.size)
        except OSError:
            # The first error is the one to report, and the directory goes offline either way.
            return

    def add_aborted(self, transaction: AbortedTransaction) -> None:
        path = self.path(TXN_INDEX)
        file = self._disk.open(path, create=True)
        file.pwrite(transaction.to_bytes(), file.size())
        file.close()
        self.has_aborted = True

    def replace_aborted(self, entries: Sequence[AbortedTransaction]) -> None:
        """For good: a crash finds the old index or this one. What is not rescanned after the next must be right now."""
        if entries:
            content = b"".join(entry.to_bytes() for entry in entries)
            self._disk.write_atomic(self.path(TXN_INDEX), content)
        elif self.has_aborted:
            self._disk.remove(self.path(TXN_INDEX))
        self.has_aborted = bool(entries)

    def has_room(self, size: int, last_offset: int, timestamp: int, now: int) -> bool:
        """The same question that the append path asks in its own words."""
        return (
            self.size + size <= self.byte_limit
            and timestamp <= self.timestamp_limit
            and last_offset <= self.offset_limit
            and now <= self.clock_limit
        )

    # Sealing and cutting -----------------------------------------------------------------------

    def reset(self, settings: TopicSettings) -> None:
        """Begin anew over the same file: recovery counts its batches again, one by one."""
        self.handle = self._disk.open(self.path())
        self.write = self.handle.pwrite
        self.size = self.unindexed_bytes = 0
        self.max_timestamp, self.max_timestamp_offset = -1, self.base_offset
        self._knows_max_timestamp = True
        self._index, self._time_index, self._saved = OffsetIndex(), TimeIndex(), (0, 0)
        self.configure(settings)

    def resume(self, settings: TopicSettings, offset: int, position: int) -> None:
        """Like `reset`, but over what stands behind the position: before it lie good batches, up to the offset."""
        index, times = OffsetIndex.parse(self._read(INDEX)), TimeIndex.parse(self._read(TIME_INDEX))
        # What was written to the files later may have been torn.
        index.cut_at_first_fall()
        index.truncate(offset - self.base_offset)
        times.truncate(offset - self.base_offset)
        self.reset(settings)
        self._index, self._time_index = index, times
        self.size = position
        self.unindexed_bytes = position - index.last_position()
        self._find_max_timestamp(times.last())
        self.configure(settings)

    def seal(self) -> None:
        """Write the indexes and let go of file and memory. Appending again needs `activate`."""
        if self._index is None or self._time_index is None:
            return
        self._time_index.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
        self.save_indexes()
        self.close()

    def save_indexes(self) -> list[str]:
        """Write what is new in the indexes to their files; returns these."""
        assert self._index is not None
        assert self._time_index is not None
        entries, times = self._saved
        parts = {
            self.path(INDEX): (self._index.to_bytes(entries), entries * offset_index.ENTRY_SIZE),
            self.path(TIME_INDEX): (
                self._time_index.to_bytes(times),
                times * time_index.ENTRY_SIZE,
            ),
        }
        for path, (content, position) in parts.items():
            file = self._disk.open(path, create=True)
            file.truncate(position)
            file.pwrite(content, position)
            file.close()
        self._saved = (len(self._index), len(self._time_index))
        return list(parts)

    def cut(self, offset: int, position: int) -> None:
        """Forget the batches from this position on; the offset is the first that goes. Only while active."""
        assert self._index is not None
        assert self._time_index is not None
        self.file.truncate(position)
        self.size = position
        self._saved = (0, 0)
        self._index.truncate(offset - self.base_offset)
        self._time_index.truncate(offset - self.base_offset)
        self._cut_aborted(offset)
        self.unindexed_bytes = position - self._index.last_position()
        self.max_timestamp, self.max_timestamp_offset = -1, self.base_offset
        self._find_max_timestamp(self._time_index.last())

    def _cut_aborted(self, offset: int) -> None:
        if self.has_aborted:
            kept = [entry for entry in self.aborted() if entry.last_offset < offset]
            self._disk.write(self.path(TXN_INDEX), b"".join(entry.to_bytes() for entry in kept))

    def retire(self, suffixes: Iterable[str] = SUFFIXES) -> None:
        """Rename the files out of the log; whoever still reads them may end in peace."""
        self.close()
        for path in self._paths(suffixes):
            self._disk.rename(path, path + DELETED)

    def rename(self, old: str, new: str) -> None:
        """Give the files another ending, the log first: recovery knows by the order what was complete."""
        for path in map(self.path, (LOG, INDEX, TIME_INDEX, TXN_INDEX)):
            if self._disk.exists(path + old):
                self._disk.rename(path + old, path + new)

    def remove(self, suffix: str = "") -> None:
        """Remove the files, as they are called with the suffix."""
        self.close()
        for path in self._paths(kind + suffix for kind in SUFFIXES):
            self._disk.remove(path)

    def close(self) -> None:
        """Let go of the file without writing anything; slices that hold it keep it open."""
        self.handle = self._index = self._time_index = None
        self.byte_limit = -1

    def _paths(self, suffixes: Iterable[str]) -> list[str]:
        """Those of the files that exist."""
        return [path for path in map(self.path, suffixes) if self._disk.exists(path)]

    # Searching ---------------------------------------------------------------------------------

    def last_indexed_position(self) -> int:
        """Where the batch of the last index entry begins; 0 if there is no index to trust."""
        if self._index is not None:
            return self._index.last_position()
        if not self._disk.exists(self.path(INDEX)):
            return 0
        last = offset_index.last_entry(self._disk.open(self.path(INDEX)))
        return last[1] if last and last[1] < self.size else 0

    def position_of(self, offset: int) -> int | None:
        """Where a batch begins with the offset; None if the index on disk does not lead near it."""
        if not self._disk.exists(self.path(INDEX)):
            return None
        index = self._disk.open(self.path(INDEX))
        position = offset_index.search(index, offset - self.base_offset)
        if not position or not self._has_batch_at(position, offset):
            return None
        for found in scan.headers(self.file, position, self.size):
            if found.header.base_offset >= offset:
                return found.position if found.header.base_offset == offset else None
        return None

    def find(self, offset: int, file: File | None = None) -> Found | None:
        """The batch that holds the offset, or the first behind it; None if the segment ends before."""
        file = file or self.file
        for found in scan.headers(file, self.lookup(offset), self.size):
            if found.header.last_offset >= offset:
                return found
        return None

    def cut_off_at(self, end: int) -> int:
        """How many bytes before the position are of a batch that ends behind it; 0 if they are few, or nobody knows.

        No entry of the index stands between the batch and the position, so the bytes between the last entry and the
        position are of that batch, but for at most one interval of whole ones. A sealed segment is not asked: to search
        its index on disk costs as much as to send the bytes.
        """
        if self._index is None:
            return 0
        tail = end - self._index.position_before(end)
        return tail if tail > 2 * self.index_interval_bytes else 0

    def lookup(self, offset: int) -> int:
        """A position at or before that of the batch which holds the offset, from the index."""
        relative = offset - self.base_offset
        if self._index is not None:
            return self._index.lookup(relative)
        if self.size <= offset_index.USUAL_INTERVAL_BYTES:
            return 0
        position = offset_index.search(self._open_index(INDEX), relative)
        if position and not self._has_batch_at(position, offset):
            self.rebuild_indexes()
            position = offset_index.search(self._open_index(INDEX), relative)
        return position

    # Indexes can be derived, so nobody waits for them to reach the disk, and a crash may leave them torn. An entry is
    # believed only if it leads to a batch that is what the entry says; a wrong one makes the search longer at most.

    def _has_batch_at(self, position: int, up_to: int) -> bool:
        for found in scan.headers(self.file, position, self.size, window=scan.ONE_HEADER):
            return self.base_offset <= found.header.base_offset <= up_to
        return False

    def _has_timestamp(self, timestamp: int, relative_offset: int) -> bool:
        offset = self.base_offset + relative_offset
        found = self.find(offset)
        return (
            found is not None
            and found.header.base_offset <= offset
            and found.header.max_timestamp == timestamp
        )

    def find_timestamp(self, timestamp: int, from_offset: int) -> Iterator[Found]:
        """The batches that may hold a record at or after the timestamp, at or above the offset.

        Nearly always the first does; but compaction may have left it empty.
        """
        if self._time_index is not None:
            relative = self._time_index.lookup(timestamp)
        else:
            relative = self._lookup_timestamp(timestamp)
        start = self.lookup(max(self.base_offset + relative, from_offset))
        for found in scan.headers(self.file, start, self.size):
            if found.header.max_timestamp >= timestamp and found.header.last_offset >= from_offset:
                yield found

    def _lookup_timestamp(self, timestamp: int) -> int:
        entry = time_index.search(self._open_index(TIME_INDEX), timestamp)
        if entry is not None and not self._has_timestamp(*entry):
            self.rebuild_indexes()
            entry = time_index.search(self._open_index(TIME_INDEX), timestamp)
        return entry[1] if entry is not None else 0

    def aborted(self) -> list[AbortedTransaction]:
        return (
            list(txn_index.parse(self._disk.read(self.path(TXN_INDEX)))) if self.has_aborted else []
        )

    def load_max_timestamp(self) -> int:
        """The largest timestamp in the segment, -1 if no batch has one."""
        if not self._knows_max_timestamp:
            last = None
            if self._disk.exists(self.path(TIME_INDEX)):
                last = time_index.last_entry(self._disk.open(self.path(TIME_INDEX)))
            self._find_max_timestamp(last if last and self._has_timestamp(*last) else None)
        return self.max_timestamp

    def _find_max_timestamp(self, last_entry: tuple[int, int] | None) -> None:
        """Start from an entry of the time index, and walk over what stands behind it."""
        position = 0
        if last_entry is not None:
            self.max_timestamp, relative = last_entry
            self.max_timestamp_offset = self.base_offset + relative
            position = self.lookup(self.max_timestamp_offset)
        for found in scan.headers(self.file, position, self.size):
            if found.header.max_timestamp > self.max_timestamp:
                self.max_timestamp = found.header.max_timestamp
                self.max_timestamp_offset = found.header.last_offset
        self._knows_max_timestamp = True

    def newest_time(self) -> int:
        """How new the segment is: by its records, or by its file if they carry no time."""
        newest = self.load_max_timestamp()
        return newest if newest >= 0 else self._disk.modified_ms(self.path())

    def first_timestamp(self) -> int:
        """The time of the first batch, from which a segment's age counts; -1 if it has none."""
        for found in scan.headers(self.file, 0, self.size, window=scan.ONE_HEADER):
            return found.header.max_timestamp
        return -1

    # Files -------------------------------------------------------------------------------------

    def _load_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        if not self.size:
            return OffsetIndex(), TimeIndex()
        index = OffsetIndex.parse(self._read(INDEX))
        if index.last_position() >= self.size:
            self.rebuild_indexes()
            index = OffsetIndex.parse(self._read(INDEX))
        return index, TimeIndex.parse(self._read(TIME_INDEX))

    def _read(self, suffix: str) -> bytes:
        file = self._open_index(suffix)
        return file.pread(file.size(), 0)

    def _open_index(self, suffix: str) -> File:
        """An index that somebody removed is built again: only the log itself cannot be derived."""
        if not self._disk.exists(self.path(suffix)):
            self.rebuild_indexes()
        return self._disk.open(self.path(suffix))

    def rebuild_indexes(self) -> None:
        index, times = OffsetIndex(), TimeIndex()
        unindexed = 0
        self.max_timestamp, self.max_timestamp_offset = -1, self.base_offset
        for found in scan.headers(self.file, 0, self.size, window=scan.WIDE):
            last_offset = found.header.last_offset
            if found.header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = (
                    found.header.max_timestamp,
                    last_offset,
                )
            if unindexed > offset_index.USUAL_INTERVAL_BYTES:
                index.append(last_offset - self.base_offset, found.position)
                times.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
                unindexed = 0
            unindexed += found.size
        times.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
        self._knows_max_timestamp = True
        self._disk.write(self.path(INDEX), index.to_bytes())
        self._disk.write(self.path(TIME_INDEX), times.to_bytes())
