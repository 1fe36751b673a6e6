"""A machine's disk in a simulation: everything that changes it is noted, and any of it may be the last thing it does."""

from __future__ import annotations

import errno
from collections.abc import Callable

from klamm.testing.disk import MemoryDisk, is_harmless
from klamm.testing.loop import Crashed, current_incarnation

_NEEDS_ROOM = ("create", "mkdir", "pwrite")


class HostDisk(MemoryDisk):
    def __init__(self, note: Callable[[str, str, bytes], None], time: Callable[[], float]) -> None:
        super().__init__()
        self._note = note
        self._time = time
        # Called before the step at which the machine goes down; None as long as it is not to.
        self.on_last_step: Callable[[], None] | None = None
        self.steps_left = -1
        self.steps = 0
        # Syncs of paths that contain this fail, and when the first of them did.
        self.broken: str | None = None
        self.failed_at: float | None = None
        # Nothing can be written any more: there is no room left.
        self.is_full = False

    def crash_after(self, steps: int, on_last_step: Callable[[], None]) -> None:
        self.steps_left, self.on_last_step = steps, on_last_step

    def may_fail(self, operation: str, path: str) -> None:
        incarnation = current_incarnation()
        if incarnation is not None and incarnation.is_dead:
            raise Crashed(incarnation.name)
        if is_harmless(operation):
            return
        self.steps += 1
        if self.steps_left >= 0:
            self.steps_left -= 1
            if self.steps_left < 0 and self.on_last_step is not None:
                self.on_last_step()
                raise Crashed("in the middle of it")
        self._note(operation, path, b"")
        if self.broken is not None and operation in ("fsync", "fsync_dir") and self.broken in path:
            self.failed_at = self._time() if self.failed_at is None else self.failed_at
            raise OSError(errno.EIO, "the disk is broken", path)
        if self.is_full and operation in _NEEDS_ROOM:
            raise OSError(errno.ENOSPC, "no space left on device", path)
        super().may_fail(operation, path)

    def wrote(self, path: str, data: bytes) -> None:
        self._note("wrote", path, data)
