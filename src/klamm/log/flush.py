"""Forcing a log to disk in three steps: decide on the loop, fsync in a worker thread, take note on the loop."""

from __future__ import annotations

from dataclasses import dataclass
from errno import EIO

from klamm.base.settings.topic import TopicSettings
from klamm.log.checkpoints import PARTITION_METADATA
from klamm.log.disk import Disk, File
from klamm.log.segments import Segments
from klamm.log.state.epochs import LeaderEpochs

EPOCHS_FILE = "leader-epoch-checkpoint"


@dataclass(slots=True)
class Flush:
    """Everything that must be durable before the recovery point may move to `end_offset`.

    A failed fsync is final: `run` raises OSError, now and whenever it is asked again, and the caller takes the directory
    offline. Trying again proves nothing, since the kernel may have dropped the pages it could not write.
    """

    disk: Disk
    files: list[File]
    # Small files written whole: (path, content).
    writes: list[tuple[str, bytes]]
    # Where names were created or removed since the last flush: the log's directory, and its parent if that is new.
    directories: list[str]
    end_offset: int
    # Counts truncations: what was flushed before one says nothing about the log after it.
    generation: int
    loose_snapshot: int | None
    sealed: int | None
    # Written for the next recovery; among the files.
    landmarks: list[str]
    is_done: bool = False
    has_failed: bool = False

    def run(self) -> None:
        """In a worker thread: touches nothing but files."""
        if self.has_failed:
            raise OSError(EIO, "an earlier flush failed")
        try:
            for file in self.files:
                file.fsync()
            for path, content in self.writes:
                self.disk.write_atomic(path, content)
            for directory in self.directories:
                self.disk.fsync_dir(directory)
        except OSError:
            self.has_failed = True
            raise
        self.is_done = True


class Durability:
    """How far a log is safe, and what of the rest a crash could lose."""

    __slots__ = (
        "_asked_at",
        "_flushed_at",
        "_has_new_names",
        "_is_new",
        "_landmarks",
        "_pending",
        "_sealed",
        "generation",
        "loose_snapshot",
        "recovery_point",
    )

    def __init__(self, recovery_point: int) -> None:
        self.recovery_point = recovery_point
        # The oldest snapshot of producers that is not on disk yet. What stands before it must stay.
        self.loose_snapshot: int | None = None
        # Base offset of the oldest segment that was sealed, and whose indexes are not on disk yet.
        self._sealed: int | None = None
        # Files that were written for the next recovery, and are not on disk yet.
        self._landmarks: list[str] = []
        self._has_new_names = False
        # The name of the log's own directory may not be on disk yet.
        self._is_new = False
        self.generation = 0
        self._pending: Flush | None = None
        # When it was first asked whether a flush is due, or the last one was; and when it was last asked.
        self._flushed_at: int | None = None
        self._asked_at: int | None = None

    def names_changed(self) -> None:
        self._has_new_names = True

    def nothing_is_sure(self) -> None:
        """The log was made just now, or comes out of a crash: no name in it was synced, nor that of its directory."""
        self._has_new_names = self._is_new = True

    def snapshot_written(self, offset: int) -> None:
        self._has_new_names = True
        if self.loose_snapshot is None:
            self.loose_snapshot = offset

    def segment_sealed(self, base_offset: int) -> None:
        self._has_new_names = True
        if self._sealed is None:
            self._sealed = base_offset

    def is_promised(self, offset: int) -> bool:
        """Everything before the offset is safe, or will be when the flush under way has ended."""
        promised = self._pending.end_offset if self._pending is not None else 0
        return offset <= max(promised, self.recovery_point)

    def landmark_written(self, paths: list[str]) -> None:
        """Where the log ends now. Not if that is promised: then a flush could end as if it had synced these files."""
        self._has_new_names = True
        self._landmarks += paths

    def truncated(self, offset: int) -> None:
        self.recovery_point = min(self.recovery_point, offset)
        self.generation += 1
        self._has_new_names = True

    def begins_at(self, offset: int) -> None:
        """What stood before the offset is gone, so it is as safe as can be."""
        self.recovery_point = max(self.recovery_point, offset)

    @property
    def names_are_safe(self) -> bool:
        """Files that were made or removed are so after a crash, too."""
        return not (self._has_new_names or (self._pending and self._pending.directories))

    def safe_snapshots_end(self) -> int | None:
        """Snapshots below this offset are on disk; None if all are."""
        if self._pending is not None and self._pending.loose_snapshot is not None:
            return self._pending.loose_snapshot
        return self.loose_snapshot

    def is_due(self, now: int, end_offset: int, settings: TopicSettings) -> bool:
        self._asked_at = now
        if self._flushed_at is None:
            self._flushed_at = now
        unflushed = end_offset - self.recovery_point
        return self.loose_snapshot is not None or (
            unflushed > 0
            and (
                unflushed >= settings.flush_messages or now - self._flushed_at >= settings.flush_ms
            )
        )

    def begin(
        self, disk: Disk, directory: str, segments: Segments, epochs: LeaderEpochs, end_offset: int
    ) -> Flush | None:
        """What to do so that everything up to the end offset is safe; None if it is."""
        if self._pending is not None:
            if self._pending.has_failed:
                return self._pending
            self._include(self._pending, epochs)
        is_ahead = end_offset > self.recovery_point or self.loose_snapshot is not None
        if not (is_ahead or self._has_new_names or epochs.is_dirty):
            return None
        writes = [(f"{directory}/{EPOCHS_FILE}", epochs.to_text().encode())]
        self._pending = Flush(
            disk=disk,
            files=self._changed_files(disk, directory, segments) if is_ahead else [],
            writes=writes if epochs.is_dirty else [],
            directories=self._changed_directories(directory),
            end_offset=end_offset,
            generation=self.generation,
            loose_snapshot=self.loose_snapshot,
            sealed=self._sealed,
            landmarks=self._landmarks,
        )
        epochs.is_dirty = self._has_new_names = self._is_new = False
        self.loose_snapshot = self._sealed = None
        self._landmarks = []
        return self._pending

    def _changed_files(self, disk: Disk, directory: str, segments: Segments) -> list[File]:
        first = self.recovery_point if self._sealed is None else self._sealed
        files = segments.files_since(min(first, self.recovery_point))
        identity = f"{directory}/{PARTITION_METADATA}"
        if self._is_new and disk.exists(identity):
            # Records that survive a crash must not be taken for those of another topic of the name.
            files.append(disk.open(identity))
        files += [disk.open(path) for path in self._landmarks if disk.exists(path)]
        return files

    def _changed_directories(self, directory: str) -> list[str]:
        if self._is_new:
            return [directory, directory.rpartition("/")[0]]
        return [directory] if self._has_new_names else []

    def _include(self, pending: Flush, epochs: LeaderEpochs) -> None:
        """One is under way, and may end after the next: what it does, the next does too."""
        self._has_new_names |= bool(pending.directories)
        self._is_new |= len(pending.directories) > 1
        epochs.is_dirty |= bool(pending.writes)
        if pending.loose_snapshot is not None:
            self.loose_snapshot = pending.loose_snapshot
        if pending.sealed is not None:
            self._sealed = pending.sealed
        self._landmarks += pending.landmarks

    def end(self, flush: Flush) -> None:
        assert flush.is_done, "a flush that failed proves nothing"
        if self._pending is flush:
            self._pending = None
        self._flushed_at = self._asked_at
        if flush.generation == self.generation:
            self.recovery_point = max(self.recovery_point, flush.end_offset)
