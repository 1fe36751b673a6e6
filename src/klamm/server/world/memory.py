"""Where `klamm serve --memory` keeps its data: a directory that is gone with the broker.

A broker that is killed cannot remove it. So each holds the lock of its own, which dies with the process, and the next
start removes those that nobody holds. Only directories of this name, of this user and with a lock file are touched.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "klamm-memory-"
LOCK, DATA = "lock", "data"
_IN_MEMORY = "/dev/shm"


@contextmanager
def memory_directory(parent: Path | None = None) -> Iterator[str]:
    """On a file system in memory where the machine has one."""
    if parent is None:
        parent = Path(
            _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK | os.X_OK) else tempfile.gettempdir()
        )
    sweep(parent)
    directory, lock = _make(parent)
    try:
        data = directory / DATA
        data.mkdir()
        yield str(data)
    finally:
        _remove(directory)
        os.close(lock)


def sweep(parent: Path) -> None:
    """Remove what brokers that were killed have left."""
    import fcntl

    for directory in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if directory.is_symlink() or directory.stat().st_uid != os.geteuid():
                continue
            lock = os.open(directory / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_there(lock, directory):
                    _remove(directory)
            finally:
                os.close(lock)


def _make(parent: Path) -> tuple[Path, int]:
    import fcntl

    while True:
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # A sweep may lock it first, between these two calls. It waits for nobody, so we can wait for it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_there(lock, directory):
            return directory, lock
        os.close(lock)


def _remove(directory: Path) -> None:
    """The lock file last: who is killed meanwhile leaves what the next sweep knows."""
    shutil.rmtree(directory / DATA, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)


def _is_there(lock: int, directory: Path) -> bool:
    """Whether the file that we have locked is still the directory's."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(directory / LOCK))
    except FileNotFoundError:
        return False
