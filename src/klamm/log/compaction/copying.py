"""The compacted copy of some segments: a log file and its indexes under names that recovery throws away."""

from __future__ import annotations

from collections.abc import Iterable

from klamm.log.disk import Disk, File
from klamm.log.index.offset_index import OffsetIndex
from klamm.log.index.time_index import TimeIndex
from klamm.log.index.txn_index import AbortedTransaction
from klamm.log.segment import CLEANED, INDEX, LOG, TIME_INDEX, TXN_INDEX, Segment
from klamm.protocol.records.batch import BatchHeader, BytesLike, read_header

_WRITE_BYTES = 1 << 20


class Copy:
    """`add` the batches in order, then `finish`. Runs in a worker thread; nobody else knows these files yet."""

    def __init__(
        self, disk: Disk, directory: str, base_offset: int, index_interval_bytes: int
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._segment = Segment(disk, directory, base_offset)
        self._interval = index_interval_bytes
        self._file = disk.open(self._segment.path(LOG + CLEANED), create=True)
        self._file.truncate(0)
        self._buffer = bytearray()
        self._index = OffsetIndex()
        self._times = TimeIndex()
        self._unindexed = 0
        self._newest = (-1, base_offset)

    def add(self, batch: BytesLike) -> None:
        header = read_header(batch)
        self._note(header)
        self._buffer += batch
        self._segment.size += len(batch)
        self._unindexed += len(batch)
        if len(self._buffer) >= _WRITE_BYTES:
            self._write()

    def _note(self, header: BatchHeader) -> None:
        if header.max_timestamp > self._newest[0]:
            self._newest = (header.max_timestamp, header.last_offset)
        if self._unindexed > self._interval:
            self._index.append(header.last_offset - self._segment.base_offset, self._segment.size)
            self._add_time()
            self._unindexed = 0

    def _add_time(self) -> None:
        timestamp, offset = self._newest
        self._times.append(timestamp, offset - self._segment.base_offset)

    def _write(self) -> None:
        self._file.pwrite(self._buffer, self._segment.size - len(self._buffer))
        self._buffer.clear()

    def finish(self, aborted: Iterable[AbortedTransaction], modified_ms: int) -> Segment:
        """Force all of it to disk, names included: the originals may go as soon as this copy has their place.

        The file keeps the time of the originals: where no record is left, it is what tells the segment's age.
        """
        self._write()
        self._disk.set_modified_ms(self._segment.path(LOG + CLEANED), modified_ms)
        self._file.fsync()
        self._add_time()
        self._write_whole(INDEX, self._index.to_bytes())
        self._write_whole(TIME_INDEX, self._times.to_bytes())
        entries = b"".join(entry.to_bytes() for entry in aborted)
        if entries:
            self._write_whole(TXN_INDEX, entries)
            self._segment.has_aborted = True
        self._disk.fsync_dir(self._directory)
        return self._segment

    def _write_whole(self, kind: str, content: bytes) -> None:
        path = self._segment.path(kind + CLEANED)
        self._disk.write(path, content)
        file: File = self._disk.open(path)
        file.fsync()
        file.close()

    def discard(self) -> None:
        self._file.close()
        self._segment.remove(CLEANED)
