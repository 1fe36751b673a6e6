"""The data directories of this broker and the logs in them: which partition lies where, opened, moved away, checkpointed.

Owns the text files at the root of each directory (recovery points, high watermarks, log starts) and the marker of a
clean stop. Reaches files only through the Disk port.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import METADATA_PARTITION, TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    read_offsets,
    read_topic_id,
    take_clean_shutdown,
    write_clean_shutdown,
    write_offsets,
)
from klamm.log.disk import Disk
from klamm.log.flush import Flush
from klamm.log.log import Log

METADATA_LOG = str(METADATA_PARTITION)
Offsets = dict[TopicPartition, int]
# Runs flushes, side by side if it can; an OSError of any of them is raised.
RunFlushes = Callable[[Sequence[Flush]], None]
CHECKPOINTS = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS, CLEANER_OFFSETS)
# To close a log takes some open files, of which there are not as many as there may be logs.
_CLOSED_AT_ONCE = 256
# File systems take names of 255 bytes, and a topic's may have 249.
_MAX_NAME = 255


class LogDirectory:
    """One entry of log.dirs. `was_clean` tells whether the last broker here had time to close its logs."""

    __slots__ = (
        "_checkpointed",
        "_knows_recovery_points",
        "_outdated",
        "_unreadable",
        "disk",
        "failure",
        "id",
        "logs",
        "path",
        "was_clean",
    )

    def __init__(
        self, disk: Disk, path: str, directory_id: Uuid, failure: OSError | None = None
    ) -> None:
        """failure: it could not be used from the start."""
        self.disk = disk
        self.path = path
        self.id = directory_id
        self.logs: dict[TopicPartition, Log] = {}
        # What took the directory offline. It is final: after a failed write or sync nobody knows what is on the disk.
        self.failure = failure
        self.was_clean = self._knows_recovery_points = False
        self._checkpointed: dict[str, Offsets] = {file: {} for file in CHECKPOINTS}
        # Files that still speak of an earlier topic of a name that is in use again.
        self._outdated: set[str] = set()
        # Logs that are there but could not be opened. What is written of them stays: it tells what was safe.
        self._unreadable: set[TopicPartition] = set()
        if failure is None:
            self._read()

    def _read(self) -> None:
        # What the checkpoint files say, or will say when the worker has written them.
        for file in CHECKPOINTS:
            self._checkpointed[file] = read_offsets(self.disk, f"{self.path}/{file}")
        self._knows_recovery_points = self._find_recovery_points()
        # The marker goes before anything is written: a crash from here on must not look like a clean stop.
        self.was_clean, _ = take_clean_shutdown(self.disk, self.path)

    def _find_recovery_points(self) -> bool:
        """Whether a log without one is new. A directory without logs gets its file at once: then all of them will be."""
        path = f"{self.path}/{RECOVERY_POINTS}"
        if not self.disk.exists(path) and not self.partitions_on_disk():
            write_offsets(self.disk, path, {})
        return self.disk.exists(path)

    @property
    def recovery_points(self) -> Offsets:
        return self._checkpointed[RECOVERY_POINTS]

    @property
    def high_watermarks(self) -> Offsets:
        return self._checkpointed[HIGH_WATERMARKS]

    @property
    def log_starts(self) -> Offsets:
        return self._checkpointed[LOG_STARTS]

    @property
    def cleaner_offsets(self) -> Offsets:
        """Up to where each log is compacted."""
        return self._checkpointed[CLEANER_OFFSETS]

    def partitions_on_disk(self) -> set[TopicPartition]:
        found = set()
        for name in self.disk.listdir(self.path):
            topic, dash, index = name.rpartition("-")
            is_number = index.isascii() and index.isdigit()
            if dash and is_number and name != METADATA_LOG:
                found.add(TopicPartition(topic, int(index)))
        return found

    def open(
        self,
        name: TopicPartition,
        settings: TopicSettings,
        *,
        topic_id: Uuid,
        now: int,
        producer_expiry_ms: int,
        is_clean: bool = False,
    ) -> Log:
        """Afterwards, and before anything is appended, the caller writes the `outdated_checkpoints`.

        is_clean: somebody closed its files just now.
        """
        if not self._has_files(name):
            self.forget_namesakes(name)
        try:
            log = Log.open(
                self.disk,
                f"{self.path}/{name}",
                settings,
                now=now,
                clean=self.was_clean or is_clean,
                recovery_point=self.recovery_points.get(name, 0),
                is_young=self._knows_recovery_points and name not in self.recovery_points,
                log_start_offset=self.log_starts.get(name, 0),
                topic_id=topic_id,
                producer_expiry_ms=producer_expiry_ms,
            )
        except (OSError, ApiError):
            self._unreadable.add(name)
            raise
        self.logs[name] = log
        self._lower_cleaner_offset(name, log.end_offset)
        return log

    def _lower_cleaner_offset(self, name: TopicPartition, end_offset: int) -> None:
        """What was cut off by recovery is not compacted; what will take its place is not either."""
        if self.cleaner_offsets.get(name, 0) > end_offset:
            self._checkpointed[CLEANER_OFFSETS] = self.cleaner_offsets | {name: end_offset}
            self._outdated.add(CLEANER_OFFSETS)

    def forget_namesakes(self, name: TopicPartition) -> None:
        """What checkpoints say of the name is about an earlier topic, and must not be believed after a crash.

        Its other partitions, if there are, will want the same: all that is no longer there goes at once.
        """
        for file, offsets in self._checkpointed.items():
            if name in offsets:
                # Another dict: the old one may just be on its way to the disk.
                self._checkpointed[file] = {
                    each: at for each, at in offsets.items() if self._has_files(each)
                }
                self._outdated.add(file)

    def _has_files(self, name: TopicPartition) -> bool:
        return self.disk.exists(f"{self.path}/{name}")

    def forget(self, name: TopicPartition) -> Log | None:
        """Take a log out of the directory's books; its files are the caller's to delete."""
        self._unreadable.discard(name)
        return self.logs.pop(name, None)

    def set_aside(self, name: TopicPartition) -> str:
        """Rename a directory that belongs to no topic we know, as Kafka does, so that nothing is lost by mistake."""
        self.forget(name)
        path = f"{self.path}/{name}"
        unique = int.from_bytes(read_topic_id(self.disk, path) or b"", "big")
        while self.disk.exists(stray := f"{self.path}/{_stray_name(name, unique)}"):
            unique += 1
        self.disk.rename(path, stray)
        return stray

    def remove_futures(self) -> list[TopicPartition]:
        """Copies that were on their way here when the broker stopped; returns of which partitions, to begin them anew."""
        names = []
        for entry in self.disk.listdir(self.path):
            partition, _, unique = entry.rpartition(".")
            topic, _, index = partition.rpartition("-")
            if unique.endswith("-future") and index.isascii() and index.isdigit():
                self.disk.rmtree(f"{self.path}/{entry}")
                names.append(TopicPartition(topic, int(index)))
        return names

    def remove_deleted(self) -> None:
        """Finish the deletions that an earlier stop interrupted."""
        for entry in self.disk.listdir(self.path):
            if entry.endswith("-delete"):
                self.disk.rmtree(f"{self.path}/{entry}")

    # -- checkpoints: what is worth writing now, if anything; writing syncs, so the shell does it in a worker thread ----

    def outdated_checkpoints(self) -> list[Checkpoint]:
        outdated, self._outdated = sorted(self._outdated), set()
        return [Checkpoint(self.disk, f"{self.path}/{f}", self._checkpointed[f]) for f in outdated]

    def new_recovery_points(self) -> Checkpoint | None:
        # A log of which nothing is safe stays off the list, as one that was made just now: zero would mean that nobody
        # knows, as where another broker wrote it, and recovery could not tell a hole from the work of a compactor.
        before = self.recovery_points
        points = {
            name: log.recovery_point
            for name, log in self.logs.items()
            if log.recovery_point or before.get(name) == 0
        }
        return self._changed(RECOVERY_POINTS, points)

    def new_log_starts(self) -> Checkpoint | None:
        # Kafka lists only logs that begin inside their first segment; for the others the file name says it. Here they
        # stay on the list until older segments are gone for good: else a crash would bring deleted records back.
        starts = {
            name: log.start_offset
            for name, log in self.logs.items()
            if log.start_offset > log.sure_start_offset
        }
        return self._changed(LOG_STARTS, starts)

    def new_high_watermarks(
        self, high_watermarks: Mapping[TopicPartition, int]
    ) -> Checkpoint | None:
        ours = {name: high_watermarks[name] for name in self.logs if name in high_watermarks}
        return self._changed(HIGH_WATERMARKS, ours)

    def new_cleaner_offset(self, name: TopicPartition, offset: int) -> Checkpoint | None:
        """A log was compacted up to the offset; those that are gone are left out."""
        known = {each: at for each, at in self.cleaner_offsets.items() if each in self.logs}
        return self._changed(CLEANER_OFFSETS, known | {name: offset})

    def _changed(self, file: str, offsets: Offsets) -> Checkpoint | None:
        before = self._checkpointed[file]
        now = {name: before[name] for name in self._unreadable if name in before} | offsets
        self._checkpointed[file] = now
        return None if before == now else Checkpoint(self.disk, f"{self.path}/{file}", now)

    @property
    def is_online(self) -> bool:
        return self.failure is None

    def close(
        self,
        high_watermarks: Mapping[TopicPartition, int],
        *,
        now: int,
        broker_epoch: int,
        run: RunFlushes,
    ) -> None:
        """Close every log, write all checkpoints, and only then say that the stop was clean."""
        if not self.is_online:
            return
        logs = list(self.logs.values())
        for first in range(0, len(logs), _CLOSED_AT_ONCE):
            _close_logs(logs[first : first + _CLOSED_AT_ONCE], now, run)
        for checkpoint in (
            self.new_recovery_points(),
            self.new_log_starts(),
            self.new_high_watermarks(high_watermarks),
        ):
            if checkpoint is not None:
                checkpoint.write()
        write_clean_shutdown(self.disk, self.path, broker_epoch)


def _close_logs(logs: Sequence[Log], now: int, run: RunFlushes) -> None:
    closing = [(log, log.begin_close(now)) for log in logs]
    run([flush for _, flush in closing if flush is not None])
    for log, flush in closing:
        if flush is not None:
            log.end_flush(flush)


def _stray_name(name: TopicPartition, unique: int) -> str:
    suffix = f".{unique:032x}-stray"
    return str(name)[: _MAX_NAME - len(suffix)] + suffix


class Checkpoint(NamedTuple):
    """A checkpoint file whose content changed."""

    disk: Disk
    path: str
    offsets: Offsets

    def write(self) -> None:
        write_offsets(self.disk, self.path, self.offsets)


def least_used(directories: Iterable[LogDirectory]) -> LogDirectory:
    """Where the next new partition goes: Kafka counts logs, not bytes."""
    online = [directory for directory in directories if directory.is_online]
    if not online:
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "every data directory is offline")
    return min(online, key=lambda directory: len(directory.logs))
