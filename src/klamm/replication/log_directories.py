"""The data directories of this broker and the logs in them: which partition lies where, opened, moved away, checkpointed.

Owns the text files at the root of each directory (recovery points, high watermarks, log starts) and the marker of a
clean stop. Reaches files only through the Disk port.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.checkpoints import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    read_offsets,
    take_clean_shutdown,
    write_clean_shutdown,
    write_offsets,
)
from klamm.log.disk import Disk
from klamm.log.log import Log

METADATA_LOG = "__cluster_metadata-0"
Offsets = dict[TopicPartition, int]
_LEFTOVERS = ("-delete", "-stray", "-future")


class LogDirectory:
    """One entry of log.dirs. `was_clean` tells whether the last broker here had time to close its logs."""

    __slots__ = (
        "disk",
        "high_watermarks",
        "id",
        "log_starts",
        "logs",
        "path",
        "recovery_points",
        "was_clean",
    )

    def __init__(self, disk: Disk, path: str, directory_id: Uuid) -> None:
        self.disk = disk
        self.path = path
        self.id = directory_id
        self.logs: dict[TopicPartition, Log] = {}
        self.recovery_points = read_offsets(disk, f"{path}/{RECOVERY_POINTS}")
        self.high_watermarks = read_offsets(disk, f"{path}/{HIGH_WATERMARKS}")
        self.log_starts = read_offsets(disk, f"{path}/{LOG_STARTS}")
        # The marker goes before anything is written: a crash from here on must not look like a clean stop.
        self.was_clean, _ = take_clean_shutdown(disk, path)

    def partitions_on_disk(self) -> set[TopicPartition]:
        found = set()
        for name in self.disk.listdir(self.path):
            topic, dash, index = name.rpartition("-")
            if dash and index.isdigit() and name != METADATA_LOG and not name.endswith(_LEFTOVERS):
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
    ) -> Log:
        log = Log.open(
            self.disk,
            f"{self.path}/{name}",
            settings,
            now=now,
            clean=self.was_clean,
            recovery_point=self.recovery_points.get(name, 0),
            log_start_offset=self.log_starts.get(name, 0),
            topic_id=topic_id,
            producer_expiry_ms=producer_expiry_ms,
        )
        self.logs[name] = log
        return log

    def forget(self, name: TopicPartition) -> Log | None:
        """Take a log out of the directory's books; its files are the caller's to delete."""
        for offsets in (self.recovery_points, self.high_watermarks, self.log_starts):
            offsets.pop(name, None)
        return self.logs.pop(name, None)

    def set_aside(self, name: TopicPartition) -> str:
        """Rename a directory that belongs to no topic we know, as Kafka does, so that nothing is lost by mistake."""
        stray = f"{self.path}/{name}-stray"
        self.disk.rename(f"{self.path}/{name}", stray)
        return stray

    def remove_deleted(self) -> None:
        """Finish the deletions that an earlier stop interrupted."""
        for entry in self.disk.listdir(self.path):
            if entry.endswith("-delete"):
                self.disk.rmtree(f"{self.path}/{entry}")

    # -- checkpoints: what is worth writing now, if anything; writing syncs, so the shell does it in a worker thread ----

    def new_recovery_points(self) -> Checkpoint | None:
        before = self.recovery_points
        self.recovery_points = {name: log.recovery_point for name, log in self.logs.items()}
        return self._checkpoint(RECOVERY_POINTS, before, self.recovery_points)

    def new_log_starts(self) -> Checkpoint | None:
        before = self.log_starts
        # Kafka lists only logs that begin inside their first segment; for the others the file name says it.
        self.log_starts = {
            name: log.start_offset
            for name, log in self.logs.items()
            if log.start_offset > log.first_segment_base
        }
        return self._checkpoint(LOG_STARTS, before, self.log_starts)

    def new_high_watermarks(
        self, high_watermarks: Mapping[TopicPartition, int]
    ) -> Checkpoint | None:
        before = self.high_watermarks
        self.high_watermarks = {
            name: high_watermarks[name] for name in self.logs if name in high_watermarks
        }
        return self._checkpoint(HIGH_WATERMARKS, before, self.high_watermarks)

    def _checkpoint(self, file: str, before: Offsets, now: Offsets) -> Checkpoint | None:
        return None if before == now else Checkpoint(self.disk, f"{self.path}/{file}", now)

    def close(
        self, high_watermarks: Mapping[TopicPartition, int], *, now: int, broker_epoch: int
    ) -> None:
        """Close every log, write all checkpoints, and only then say that the stop was clean."""
        for log in self.logs.values():
            log.close(now)
        for checkpoint in (
            self.new_recovery_points(),
            self.new_log_starts(),
            self.new_high_watermarks(high_watermarks),
        ):
            if checkpoint is not None:
                checkpoint.write()
        write_clean_shutdown(self.disk, self.path, broker_epoch)


class Checkpoint(NamedTuple):
    """A checkpoint file whose content changed."""

    disk: Disk
    path: str
    offsets: Offsets

    def write(self) -> None:
        write_offsets(self.disk, self.path, self.offsets)


def least_used(directories: Iterable[LogDirectory]) -> LogDirectory:
    """Where the next new partition goes: Kafka counts logs, not bytes."""
    return min(directories, key=lambda directory: len(directory.logs))
