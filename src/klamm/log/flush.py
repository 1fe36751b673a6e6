"""Forcing a log to disk in three steps: decide on the loop, fsync in a worker thread, take note on the loop."""

from __future__ import annotations

from dataclasses import dataclass

from klamm.log.disk import Disk, File


@dataclass(slots=True)
class Flush:
    """Everything that must be durable before the recovery point may move to `end_offset`.

    A failed fsync is final: `run` raises OSError, and the caller takes the directory offline. Trying again proves
    nothing, since the kernel may have dropped the pages it could not write.
    """

    disk: Disk
    files: list[File]
    # Small files written whole: (path, content).
    writes: list[tuple[str, bytes]]
    # The directory, if names in it were created or removed since the last flush.
    directory: str | None
    end_offset: int
    # Counts truncations: what was flushed before one says nothing about the log after it.
    generation: int
    is_done: bool = False
    has_failed: bool = False

    def run(self) -> None:
        try:
            for file in self.files:
                file.fsync()
            for path, content in self.writes:
                self.disk.write_atomic(path, content)
            if self.directory is not None:
                self.disk.fsync_dir(self.directory)
        except OSError:
            self.has_failed = True
            raise
        self.is_done = True
