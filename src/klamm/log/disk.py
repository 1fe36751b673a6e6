"""The Disk port, and the real disk behind it: the only file of this package that may call the operating system.

Everything that fails here raises OSError. A caller that sees one must take the log directory offline: after a failed
write or fsync the page cache can no longer be trusted.
"""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple, Protocol


class File(Protocol):
    """One open file, read and written at explicit positions."""

    def pread(self, size: int, position: int) -> bytes: ...
    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None: ...
    def truncate(self, size: int) -> None: ...
    def fsync(self) -> None: ...
    def size(self) -> int: ...
    def close(self) -> None: ...


class Lock(Protocol):
    def close(self) -> None: ...


class Space(NamedTuple):
    """Of the file system that a path lies on."""

    total_bytes: int
    usable_bytes: int


class Disk(Protocol):
    """Named files. Names are durable only after fsync_dir, bytes only after fsync."""

    def open(self, path: str, create: bool = False) -> File: ...
    def read(self, path: str) -> bytes: ...
    def write(self, path: str, data: bytes) -> None: ...
    def write_atomic(self, path: str, data: bytes) -> None: ...
    def listdir(self, path: str) -> list[str]: ...
    def mkdir(self, path: str) -> None: ...
    def rename(self, old: str, new: str) -> None: ...
    def remove(self, path: str) -> None: ...
    def rmtree(self, path: str) -> None: ...
    def exists(self, path: str) -> bool: ...
    def file_size(self, path: str) -> int: ...
    def modified_ms(self, path: str) -> int: ...
    def set_modified_ms(self, path: str, modified_ms: int) -> None: ...
    def fsync_dir(self, path: str) -> None: ...
    def space(self, path: str) -> Space: ...
    def lock(self, path: str) -> Lock | None:
        """A file that one process holds at a time; None if another has it."""


class RealFile:
    """A file descriptor. It closes itself when nobody refers to it: a slice on its way to a socket outlives its log."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def pread(self, size: int, position: int) -> bytes:
        return os.pread(self._fd, size, position)

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        written = os.pwrite(self._fd, data, position)
        if written != len(data):
            self._write_rest(memoryview(data), position, written)

    def _write_rest(self, data: memoryview, position: int, written: int) -> None:
        while written < len(data):
            written += os.pwrite(self._fd, data[written:], position + written)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def fsync(self) -> None:
        os.fsync(self._fd)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class RealDisk:
    """The file system of this machine."""

    __slots__ = ()

    def open(self, path: str, create: bool = False) -> RealFile:
        return RealFile(
            os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o644)
        )

    def read(self, path: str) -> bytes:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = [os.read(fd, 65536)]
            while len(parts[-1]) == 65536:
                parts.append(os.read(fd, 65536))
            return parts[0] if len(parts) == 1 else b"".join(parts)
        finally:
            os.close(fd)

    def write(self, path: str, data: bytes) -> None:
        """Replaces the content, without a promise about crashes: for files that can be derived again."""
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        file = RealFile(fd)
        file.pwrite(data, 0)
        file.close()

    def write_atomic(self, path: str, data: bytes) -> None:
        """After a crash the file holds its old content or the new one, never a mixture."""
        temporary = path + ".tmp"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        file = RealFile(fd)
        file.pwrite(data, 0)
        file.fsync()
        file.close()
        os.rename(temporary, path)
        self.fsync_dir(os.path.dirname(path))

    def listdir(self, path: str) -> list[str]:
        return os.listdir(path)

    def mkdir(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def rmtree(self, path: str) -> None:
        shutil.rmtree(path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def file_size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def fsync_dir(self, path: str) -> None:
        fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def space(self, path: str) -> Space:
        found = os.statvfs(path)
        return Space(found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail)

    def lock(self, path: str) -> RealFile | None:
        # Not every system has it, and not every use of this module needs it.
        import fcntl

        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Java locks in this other way, which knows nothing of the first.
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return None
        return RealFile(fd)
