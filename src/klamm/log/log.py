"""Log: one partition's records on disk. The only class of this package that others use.

It knows bytes, offsets, producers and leader epochs; it knows no network, no replicas and no clock (`now` is an
argument). OSError from any method means that the disk failed: the shell takes the directory offline.

Nothing here calls fsync but `close` and the truncations; see flush.py. Appending is the hot path, and so is reading on from where an
earlier read ended: both work on plain attributes and create nothing but their answer.
"""

from __future__ import annotations

from struct import Struct
from typing import Self

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log import checkpoints, recovery
from klamm.log.disk import Disk, File
from klamm.log.flush import Durability, Flush
from klamm.log.landmarks import Landmarks
from klamm.log.reading import Reader
from klamm.log.recovery import Loaded, Recovered
from klamm.log.results import (
    Appended,
    OffsetOutOfRange,
    Origin,
    Slice,
    TimestampedOffset,
)
from klamm.log.segment import Segment
from klamm.log.segments import Segments
from klamm.log.state import replay
from klamm.log.validation import of_brokers, of_clients
from klamm.log.validation.of_clients import Rules, Writable
from klamm.protocol.records.batch import (
    ATTRIBUTES_AT,
    CONTROL,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL,
    BatchHeader,
    Codec,
    read_header,
)
from klamm.protocol.records.checksum import crc32c

_unpack_header = HEADER.unpack_from
# A named tuple made without its own constructor, which is Python code and costs twice as much.
_new = tuple.__new__
# To ask an enum for its member costs four times as much as a name of our own.
_CLIENT = Origin.CLIENT
# Base offset, length and leader epoch stand side by side: one call stamps a batch.
_stamp = Struct(">qii").pack_into
# A known codec, transactional or not, and nothing else.
_USUAL_ATTRIBUTES = frozenset([*Codec, *(codec | TRANSACTIONAL for codec in Codec)])
_MAX_NAME = 255
# How much stands between two places where recovery may begin within a segment.
LANDMARK_BYTES = 64 * 1024 * 1024


class Log:
    """One partition's log. `end_offset` is the next offset to be given; `start_offset` the first to be read."""

    __slots__ = (
        "_disk",
        "_durability",
        "_landmarks",
        "_producer_expiry_ms",
        "_reader",
        "_rules",
        "_segments",
        "_settings",
        "directory",
        "end_offset",
        "epochs",
        "producers",
        "recovered",
        "start_offset",
        "topic_id",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        settings: TopicSettings,
        *,
        loaded: Loaded,
        durability: Durability,
    ) -> None:
        """Use `Log.open`."""
        self.directory = directory
        self.topic_id: Uuid | None = None
        self.epochs = loaded.epochs
        self.producers = loaded.producers
        self.recovered: Recovered = loaded.recovered
        self.start_offset = loaded.segments[0].base_offset
        self.end_offset = loaded.end_offset
        self._disk = disk
        self._durability = durability
        self._settings = settings
        self._rules = Rules(directory.rpartition("/")[2], settings)
        self._segments = Segments(disk, directory, settings, loaded.segments)
        self._reader = Reader(self._segments)
        self._landmarks = Landmarks(disk, directory, durability, loaded.snapshot_offset)
        self._producer_expiry_ms = 0

    @classmethod
    def open(
        cls,
        disk: Disk,
        directory: str,
        settings: TopicSettings,
        *,
        now: int,
        clean: bool,
        recovery_point: int = 0,
        is_young: bool = False,
        log_start_offset: int = 0,
        topic_id: Uuid | None = None,
        producer_expiry_ms: int = 86_400_000,
    ) -> Self:
        """Open the log of a directory, which is created if absent. clean: the last stop was one, nothing is rescanned.

        is_young: it has no recovery point because none were written down since it was made.
        """
        is_new = not disk.exists(directory)
        if is_new:
            disk.mkdir(directory)
        stored = None if is_new else checkpoints.read_topic_id(disk, directory)
        if stored is not None and topic_id is not None and stored != topic_id:
            raise ApiError(ErrorCode.INCONSISTENT_TOPIC_ID, f"{directory} belongs to {stored}.")
        loaded = recovery.load(
            disk,
            directory,
            settings,
            clean=clean or is_new,
            recovery_point=recovery_point,
            is_young=is_young,
            log_start_offset=log_start_offset,
        )
        durability = Durability(loaded.recovery_point)
        if is_new or not loaded.is_clean:
            durability.nothing_is_sure()
        if not loaded.is_clean:
            durability.snapshot_written(0)
        log = cls(disk, directory, settings, loaded=loaded, durability=durability)
        log.topic_id = stored or topic_id
        if stored is None and topic_id is not None:
            checkpoints.write_topic_id(disk, directory, topic_id)
        log._producer_expiry_ms = producer_expiry_ms
        if log_start_offset > log.end_offset:
            log.truncate_fully_and_start_at(log_start_offset)
        log.start_offset = max(log.start_offset, log_start_offset)
        log.expire_producers(now)
        return log

    # Appending ---------------------------------------------------------------------------------

    def append(
        self, data: Writable, *, leader_epoch: int, now: int, origin: Origin = _CLIENT
    ) -> Appended:
        """Give the batch its offsets, in place, and write it. The buffer is not kept.

        This is the path of every produce: checks on the header alone, one write, no object but the answer.
        """
        if origin is not _CLIENT:
            return self._append_trusted(data, leader_epoch, now, origin)
        size = len(data)
        rules = self._rules
        if size < HEADER_SIZE:
            data = of_clients.examine(data, rules, now)
        (
            base_offset, length, _, magic, crc, attributes, last_delta, _, timestamp,
            producer_id, producer_epoch, sequence, count,
        ) = _unpack_header(data)  # fmt: skip
        if (
            length + LOG_OVERHEAD != size
            or magic != MAGIC
            or base_offset
            or attributes not in _USUAL_ATTRIBUTES
            or count != last_delta + 1
            or count < 1
            or count > rules.max_count
            or size > rules.max_size
            or timestamp > now + rules.after_max_ms
            or rules.is_special
            or (producer_id >= 0 > sequence)
            or crc32c(data[ATTRIBUTES_AT:]) != crc
            or (attributes and not of_clients.begins_as_its_codec(data, attributes))
        ):
            data = of_clients.examine(data, rules, now)
            size = len(data)
            length = size - LOG_OVERHEAD
            timestamp = read_header(data).max_timestamp
        first = self.end_offset
        last = first + last_delta
        if producer_id >= 0:
            known = self.producers.check(
                producer_id, producer_epoch, sequence, last_delta, attributes & TRANSACTIONAL
            )
            if known is not None:
                return Appended(known.first_offset, known.last_offset, known.timestamp, True)
        segment = self._segments.active
        position = segment.size
        if (
            position + size > segment.byte_limit
            or timestamp > segment.timestamp_limit
            or last > segment.offset_limit
            or now > segment.clock_limit
        ):
            segment = self._make_room(size, last, timestamp, now)
            position = segment.size
        if leader_epoch != self.epochs.latest:
            self.epochs.assign(leader_epoch, first)
        _stamp(data, 0, first, length, leader_epoch)
        try:
            segment.write(data, position)
        except OSError:
            segment.drop_torn_write()
            raise
        segment.count(size, last, timestamp)
        if producer_id >= 0:
            self.producers.appended(
                producer_id, producer_epoch, sequence, first, last, timestamp,
                attributes & TRANSACTIONAL,
            )  # fmt: skip
        self.end_offset = last + 1
        return _new(Appended, (first, last, now if rules.uses_append_time else -1, False))

    def _append_trusted(
        self, data: Writable, leader_epoch: int, now: int, origin: Origin
    ) -> Appended:
        """Batches of our own or of the leader, as many as there are. All are checked before any is written."""
        if len(data) >= HEADER_SIZE:
            one = None
            if origin is Origin.REPLICATION:
                one = self._append_replicated(data, leader_epoch, now)
            elif origin is Origin.COORDINATOR:
                one = self._append_plain(data, leader_epoch, now)
            if one is not None:
                return one
        view = memoryview(data)
        if origin is Origin.REPLICATION:
            found = of_brokers.replicated(view, leader_epoch, self.end_offset)
        else:
            found = of_brokers.stamped(
                view,
                origin,
                leader_epoch=leader_epoch,
                end_offset=self.end_offset,
                now=now,
                rules=self._rules,
                producers=self.producers,
            )
        at = written = 0
        while written < len(found):
            run = self._fitting(found[written:], now)
            size = sum(len(batch) for _, batch in run)
            self._write_run(view[at : at + size], run)
            at += size
            written += len(run)
        append_time = now if self._rules.uses_append_time else -1
        return Appended(found[0][0].base_offset, self.end_offset - 1, append_time, False)

    def _append_plain(self, data: Writable, leader_epoch: int, now: int) -> Appended | None:
        """One batch that no producer stands behind, as a commit of offsets is; None for anything else."""
        size = len(data)
        _, length, _, magic, _, _, last_delta, _, timestamp, producer_id, _, _, _ = _unpack_header(
            data
        )
        if (
            length + LOG_OVERHEAD != size
            or magic != MAGIC
            or producer_id >= 0
            or size > self._rules.max_size
            or self._rules.uses_append_time
        ):
            return None
        first = self.end_offset
        last = first + last_delta
        segment = self._make_room(size, last, timestamp, now)
        if leader_epoch != self.epochs.latest:
            self.epochs.assign(leader_epoch, first)
        _stamp(data, 0, first, length, leader_epoch)
        segment.append(data)
        segment.count(size, last, timestamp)
        self.end_offset = last + 1
        return Appended(first, last, -1, False)

    def _append_replicated(self, data: Writable, leader_epoch: int, now: int) -> Appended | None:
        """One whole batch of a leader, as most fetches bring it; None for anything else."""
        (
            first, length, epoch, magic, crc, attributes, last_delta, _, timestamp,
            producer_id, producer_epoch, sequence, _,
        ) = _unpack_header(data)  # fmt: skip
        size = length + LOG_OVERHEAD
        if (
            size != len(data)
            or magic != MAGIC
            or attributes & CONTROL
            or first < self.end_offset
            or epoch > leader_epoch
            or crc32c(data[ATTRIBUTES_AT:]) != crc
        ):
            return None
        last = first + last_delta
        segment = self._make_room(size, last, timestamp, now)
        if epoch != self.epochs.latest:
            self.epochs.assign(epoch, first)
        segment.append(data)
        segment.count(size, last, timestamp)
        if producer_id >= 0:
            self.producers.appended(
                producer_id, producer_epoch, sequence, first, last, timestamp,
                attributes & TRANSACTIONAL,
            )  # fmt: skip
        self.end_offset = last + 1
        return _new(Appended, (first, last, -1, False))

    def _fitting(
        self, found: list[tuple[BatchHeader, memoryview]], now: int
    ) -> list[tuple[BatchHeader, memoryview]]:
        """As many batches, at least one, as the active segment still takes; rolls if it takes none."""
        header, batch = found[0]
        size = len(batch)
        segment = self._make_room(size, header.last_offset, header.max_timestamp, now)
        for count, (following, its_batch) in enumerate(found[1:], start=1):
            size += len(its_batch)
            if not segment.has_room(size, following.last_offset, following.max_timestamp, now):
                return found[:count]
        return found

    def _write_run(self, data: memoryview, run: list[tuple[BatchHeader, memoryview]]) -> None:
        segment = self._segments.active
        segment.append(data)
        for header, batch in run:
            if header.leader_epoch != self.epochs.latest:
                self.epochs.assign(header.leader_epoch, header.base_offset)
            segment.count(len(batch), header.last_offset, header.max_timestamp)
            aborted = replay.note_producer(self.producers, header, batch)
            if aborted is not None:
                segment.add_aborted(aborted)
                self._durability.names_changed()
            self.end_offset = header.last_offset + 1

    def _make_room(self, size: int, last_offset: int, timestamp: int, now: int) -> Segment:
        """The first append after a start comes by here, and those that need a new segment."""
        segment = self._segments.active
        if not segment.is_active:
            self._segments.activate(now)
        if not segment.has_room(size, last_offset, timestamp, now):
            # A batch that fits nowhere stays where it is: the roll of an empty segment does nothing.
            self.roll(now)
        return self._segments.active

    def roll(self, now: int) -> None:
        """Seal the active segment and begin another, unless it is still empty where the log ends."""
        active = self._segments.active
        if not active.size and active.base_offset == self.end_offset:
            return
        self._landmarks.write_snapshot(self.producers, self.end_offset)
        self._durability.segment_sealed(active.base_offset)
        self._segments.roll(self.end_offset, now)
        self._landmarks.segment_begins(self.end_offset)
        self._reader.forget()

    # Reading -----------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, up_to: int, min_one: bool = True
    ) -> Slice | None:
        """The bytes from the batch that holds the offset on, below `up_to`; None if there are none.

        At most max_bytes, where a last batch may be cut off; but the first batch comes whole, however large, if
        `min_one`, and not at all if it would be cut off otherwise.
        """
        end_offset = self.end_offset
        if not self.start_offset <= offset <= end_offset:
            raise OffsetOutOfRange(offset, self.start_offset, end_offset)
        return self._reader.read(offset, max_bytes, up_to, end_offset, min_one)

    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        """The first record at or after the timestamp; None if all are earlier."""
        return self._segments.find_timestamp(timestamp, self.start_offset)

    def max_timestamp(self) -> TimestampedOffset | None:
        """The record with the largest timestamp; None in an empty log."""
        return self._segments.max_timestamp()

    def aborted_transactions(self, start: int, end: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions that touch these offsets."""
        return [(e.producer_id, e.first_offset) for e in self._segments.aborted(start, end)]

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the earliest open transaction begins, as far as it is still in the log."""
        first = self.producers.first_open_offset
        return None if first is None else max(first, self.start_offset)

    def recall_ends(self, high_watermark: int) -> None:
        """Which transactions ended above it, after the producers were read from a snapshot."""
        if high_watermark >= self.end_offset or not self.producers.has_markers:
            return
        older = recovery.recall_ends(
            self._disk, self.directory, self._segments.since(0), high_watermark, self.end_offset
        )
        if older is not None:
            self.producers.recall_ends(older, high_watermark)

    def size_bytes(self) -> int:
        return self._segments.size_bytes()

    @property
    def sure_start_offset(self) -> int:
        """Where the log would start after a crash if nobody had written down its start."""
        return self._segments.first_offset if self._durability.names_are_safe else 0

    @property
    def segment_count(self) -> int:
        return len(self._segments)

    def segments(self) -> list[Segment]:
        """Oldest first; only the last is ever written to."""
        return self._segments.since(0)

    @property
    def generation(self) -> int:
        """Counts truncations: what was known of segments before one says nothing about them after it."""
        return self._durability.generation

    # Shrinking ---------------------------------------------------------------------------------

    def advance_start(self, offset: int) -> None:
        """Hide everything below the offset (DeleteRecords). `retain` drops the segments that are hidden whole."""
        if offset > self.end_offset:
            raise OffsetOutOfRange(offset, self.start_offset, self.end_offset)
        if offset > self.start_offset:
            self.start_offset = offset
            self.epochs.truncate_from_start(offset)

    def retain(self, now: int, *, up_to: int) -> list[int]:
        """Drop the oldest segments by age, size and start offset, never above `up_to`; returns their base offsets.

        Their files are renamed, and removed by `remove_deleted` after file.delete.delay.ms. A segment stays until a
        flush has made safe, in the snapshot behind it, what it says of producers.
        """
        count = self._count_deletable(now, up_to)
        if count == len(self._segments):
            # Even the active one is past its time: a new one begins, so that a log always has one.
            self.roll(now)
        safe_end = self._durability.safe_snapshots_end()
        if safe_end is not None:
            count = self._count_deletable(now, min(up_to, safe_end - 1))
        if not count:
            return []
        gone = self._segments.retire(count)
        self._durability.names_changed()
        self._durability.begins_at(self._segments.first_offset)
        self._reader.forget()
        self.advance_start(max(self.start_offset, self._segments.first_offset))
        return [segment.base_offset for segment in gone]

    def _count_deletable(self, now: int, up_to: int) -> int:
        return self._segments.count_deletable(
            now=now, start_offset=self.start_offset, end_offset=self.end_offset, up_to=up_to
        )

    def swap_in(self, originals: list[Segment], copy: Segment) -> bool:
        """Put a compacted copy in the place of segments; False if they are not in the log any more."""
        if not self._segments.swap_in(originals, copy):
            return False
        self._durability.names_changed()
        self._reader.forget()
        return True

    def remove_deleted(self, now: int) -> int | None:
        """Remove the files of dropped segments whose time has come; returns when to call again."""
        return self._segments.remove_retired(now, self._settings.file_delete_delay_ms)

    def expire_producers(self, now: int) -> list[int]:
        """Forget producers that were silent for too long."""
        return self.producers.expire(now, self._producer_expiry_ms)

    def truncate_to(self, offset: int, now: int = 0, *, sync: bool = True) -> File | None:
        """Forget every batch that reaches to the offset or beyond. Rare, and it waits for the disk.

        Not if `sync` is False: then the caller forces the file that is returned to disk. Either way it writes its
        checkpoint of recovery points before it appends again: an old one that is too high would take new bytes for
        safe ones.
        """
        if offset >= self.end_offset:
            # An epoch in which we led without a record is not part of the history.
            self.epochs.truncate_from_end(self.end_offset)
            return None
        if offset < self._segments.first_offset:
            self.truncate_fully_and_start_at(offset, now)
            return None
        offset, file = self._segments.cut(offset, now)
        if file is not None and sync:
            file.fsync()
        self.end_offset = offset
        self.epochs.truncate_from_end(offset)
        self.producers = recovery.reload_producers(
            self._disk, self.directory, self._segments.since(0), offset
        )
        self._after_truncation(offset)
        return file

    def truncate_fully_and_start_at(self, offset: int, now: int = 0) -> None:
        """Forget everything; the next offset is this one. Waits for the disk, as `truncate_to` does."""
        self._segments.restart(offset, now)
        self.start_offset = self.end_offset = offset
        self.epochs.clear()
        self.producers = recovery.reload_producers(self._disk, self.directory, [], offset)
        self._after_truncation(offset)

    def _after_truncation(self, offset: int) -> None:
        self.start_offset = min(self.start_offset, self.end_offset)
        self._durability.truncated(offset)
        self._landmarks.truncated()
        self._reader.forget()

    def reconfigure(self, settings: TopicSettings) -> None:
        self._settings = settings
        self._rules = Rules(self._rules.name, settings)
        self._segments.configure(settings)

    # Keeping -----------------------------------------------------------------------------------

    def needs_flush(self, now: int) -> bool:
        """By flush.messages and flush.ms; and whenever a segment was sealed, as Kafka does."""
        return self._durability.is_due(now, self.end_offset, self._settings)

    def begin_flush(self) -> Flush | None:
        """What to fsync, for a worker thread; None if all is on disk. `end_flush` follows when it ran."""
        self._landmarks.set(
            self._segments.active, self.producers, self.end_offset, every=LANDMARK_BYTES
        )
        return self._durability.begin(
            self._disk, self.directory, self._segments, self.epochs, self.end_offset
        )

    def end_flush(self, flush: Flush) -> None:
        """The flush ran: everything below its end offset survives a crash."""
        self._durability.end(flush)

    @property
    def recovery_point(self) -> int:
        """Everything below survives a crash; what is above is read again after one."""
        return self._durability.recovery_point

    def close(self, now: int) -> None:
        """Leave files that need no recovery, and wait for the disk."""
        flush = self.begin_close(now)
        if flush is not None:
            flush.run()
            self.end_flush(flush)

    def begin_close(self, now: int) -> Flush | None:
        """Write indexes and a snapshot of the producers; returns what is still to be synced.

        Whoever closes many logs runs the flushes side by side: the disk then makes one journey for many.
        """
        self.expire_producers(now)
        self._landmarks.ensure_snapshot(self.producers, self.end_offset)
        files = self._segments.seal()
        self._reader.forget()
        flush = self.begin_flush()
        if flush is not None:
            flush.files += files
        return flush

    def delete(self) -> str:
        """Rename the directory so that it no longer is a partition; returns the new name, to be removed later."""
        self._segments.close()
        parent, _, name = self.directory.rpartition("/")
        unique = int.from_bytes(self.topic_id or b"", "big")
        while self._disk.exists(path := f"{parent}/{_deleted_name(name, unique)}"):
            unique += 1
        self._disk.rename(self.directory, path)
        return path


def _deleted_name(name: str, unique: int) -> str:
    """File systems take names of 255 bytes, and a topic's may have 249."""
    suffix = f".{unique:032x}-delete"
    return name[: _MAX_NAME - len(suffix)] + suffix
