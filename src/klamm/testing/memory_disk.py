"""A disk in memory that forgets what was not forced to it.

`crash` does what a power failure does: bytes written since the last fsync of a file survive in part, in any mixture,
the last of them torn; names created, renamed or removed since the last fsync of their directory may be as before.
Directories themselves are durable at once, which is a kindness of this disk and not of real ones.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from random import Random


@dataclass(slots=True)
class _Change:
    """One write or truncation that is not on disk yet."""

    position: int
    data: bytes | None  # None: the file was cut at the position

    def apply(self, content: bytearray) -> None:
        if self.data is None:
            del content[self.position :]
            content.extend(bytes(self.position - len(content)))
            return
        if self.position > len(content):
            content.extend(bytes(self.position - len(content)))
        content[self.position : self.position + len(self.data)] = self.data

    def torn(self, rng: Random) -> _Change:
        return _Change(self.position, self.data and self.data[: rng.randrange(len(self.data) + 1)])


@dataclass(slots=True, eq=False)
class _Node:
    """A file, whatever its names."""

    content: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    pending: list[_Change] = field(default_factory=list)
    modified_ms: int = 0

    def change(self, change: _Change) -> None:
        change.apply(self.content)
        self.pending.append(change)

    def sync(self) -> None:
        self.durable = bytes(self.content)
        self.pending.clear()

    def after_crash(self, rng: Random) -> _Node:
        """What is left: either the oldest changes up to one that is torn, or any of them."""
        survivor = _Node(bytearray(self.durable), modified_ms=self.modified_ms)
        pending = self.pending
        if rng.random() < 0.5:
            kept = pending[: rng.randrange(len(pending) + 1)]
        else:
            kept = [change for change in pending if rng.random() < 0.5]
        for change in kept[:-1]:
            change.apply(survivor.content)
        for change in kept[-1:]:
            (change if rng.random() < 0.5 else change.torn(rng)).apply(survivor.content)
        survivor.durable = bytes(survivor.content)
        return survivor


# What happened to the names of a directory: names that went, and names that came.
_Names = dict[str, _Node]
_NameChange = tuple[tuple[str, ...], _Names]


class MemoryFile:
    """An open file of a MemoryDisk. After a crash it belongs to the past and changes nothing."""

    def __init__(self, disk: MemoryDisk, path: str, node: _Node) -> None:
        self._disk = disk
        self._path = path
        self._node = node

    def pread(self, size: int, position: int) -> bytes:
        self._disk.may_fail("pread", self._path)
        return bytes(self._node.content[position : position + size])

    def pwrite(self, data: bytes | bytearray | memoryview, position: int) -> None:
        try:
            self._disk.may_fail("pwrite", self._path)
        except OSError:
            # A write that fails may have written something.
            self._node.change(_Change(position, bytes(data)[: len(data) // 2]))
            raise
        self._node.change(_Change(position, bytes(data)))
        self._node.modified_ms = self._disk.now_ms

    def truncate(self, size: int) -> None:
        self._disk.may_fail("truncate", self._path)
        self._node.change(_Change(size, None))

    def fsync(self) -> None:
        self._disk.may_fail("fsync", self._path)
        self._node.sync()

    def size(self) -> int:
        return len(self._node.content)

    def close(self) -> None:
        """Nothing to give back."""


class MemoryDisk:
    """Implements the Disk port of klamm.log. Set `now_ms` to date files, `fail` to make an operation fail."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._names: _Names = {}
        self._durable_names: _Names = {}
        self._pending: dict[str, list[_NameChange]] = {}
        self._directories: set[str] = set()
        self._failing: dict[str, str] = {}

    # Faults ------------------------------------------------------------------------------------

    def crash(self, rng: Random) -> None:
        """Power off and on again: only what was synced is sure to be there."""
        for changes in self._pending.values():
            for gone, came in changes[: rng.randrange(len(changes) + 1)]:
                _apply(self._durable_names, gone, came)
        self._pending.clear()
        survivors: dict[int, _Node] = {}
        for name, node in self._durable_names.items():
            if id(node) not in survivors:
                survivors[id(node)] = node.after_crash(rng)
            self._durable_names[name] = survivors[id(node)]
        self._names = dict(self._durable_names)

    def fail(self, operation: str, suffix: str = "") -> None:
        """From now on the operation raises EIO for paths with this ending. `heal` ends it."""
        self._failing[operation] = suffix

    def heal(self) -> None:
        self._failing.clear()

    def may_fail(self, operation: str, path: str) -> None:
        if operation in self._failing and path.endswith(self._failing[operation]):
            raise OSError(errno.EIO, f"{operation} was told to fail", path)

    # The Disk port -----------------------------------------------------------------------------

    def open(self, path: str, create: bool = False) -> MemoryFile:
        self.may_fail("open", path)
        if create and path not in self._names:
            self._check_parent(path)
            self._change_names(path, (), {path: _Node(modified_ms=self.now_ms)})
        return MemoryFile(self, path, self._node(path))

    def read(self, path: str) -> bytes:
        self.may_fail("pread", path)
        return bytes(self._node(path).content)

    def write(self, path: str, data: bytes) -> None:
        file = self.open(path, create=True)
        file.truncate(0)
        file.pwrite(data, 0)

    def write_atomic(self, path: str, data: bytes) -> None:
        self.may_fail("fsync", path)
        self._check_parent(path)
        node = _Node(bytearray(data), bytes(data), modified_ms=self.now_ms)
        self._change_names(path, (), {path: node})
        self.fsync_dir(_parent(path))

    def listdir(self, path: str) -> list[str]:
        if path not in self._directories:
            raise FileNotFoundError(path)
        prefix = path + "/"
        below = {
            name[len(prefix) :].partition("/")[0]
            for name in (*self._names, *self._directories)
            if name.startswith(prefix)
        }
        return sorted(below)

    def mkdir(self, path: str) -> None:
        while path and path not in self._directories:
            self._directories.add(path)
            path = _parent(path)

    def rename(self, old: str, new: str) -> None:
        if old in self._directories:
            self._rename_directory(old, new)
        else:
            self._change_names(old, (old,), {new: self._node(old)})

    def remove(self, path: str) -> None:
        self._node(path)
        self._change_names(path, (path,), {})

    def rmtree(self, path: str) -> None:
        inside = path + "/"
        self._directories = {d for d in self._directories if d != path and not d.startswith(inside)}
        for names in (self._names, self._durable_names):
            for name in [name for name in names if name.startswith(inside)]:
                del names[name]
        self._pending.pop(path, None)

    def exists(self, path: str) -> bool:
        return path in self._names or path in self._directories

    def file_size(self, path: str) -> int:
        return len(self._node(path).content)

    def modified_ms(self, path: str) -> int:
        return self._node(path).modified_ms

    def fsync_dir(self, path: str) -> None:
        self.may_fail("fsync_dir", path)
        for gone, came in self._pending.pop(path, ()):
            _apply(self._durable_names, gone, came)

    # Names -------------------------------------------------------------------------------------

    def _node(self, path: str) -> _Node:
        try:
            return self._names[path]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "no such file", path) from None

    def _check_parent(self, path: str) -> None:
        if _parent(path) not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)

    def _change_names(self, path: str, gone: tuple[str, ...], came: _Names) -> None:
        _apply(self._names, gone, came)
        self._pending.setdefault(_parent(path), []).append((gone, came))

    def _rename_directory(self, old: str, new: str) -> None:
        self.fsync_dir(old)
        inside = old + "/"
        for names in (self._names, self._durable_names):
            for name in [name for name in names if name.startswith(inside)]:
                names[new + name[len(old) :]] = names.pop(name)
        self._directories.discard(old)
        self._directories.add(new)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _apply(names: _Names, gone: tuple[str, ...], came: _Names) -> None:
    for name in gone:
        names.pop(name, None)
    names.update(came)
