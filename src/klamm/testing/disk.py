"""A disk in memory that forgets what was not forced to it.

`crash` does what a power failure does: bytes written since the last fsync of a file survive in part, in any mixture,
the last of them torn; names created, renamed or removed since the last fsync of their directory may be as before, and
so may a new directory whose parent was not synced. Two kindnesses that real disks do not have: changes of names in one
directory survive in the order in which they were made, and a directory that is renamed or removed whole is so at once.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import TypeVar

from klamm.log.disk import Lock, Space

T = TypeVar("T")


class Loss(Enum):
    """What a crash does to that which was not synced."""

    NOTHING = "nothing"  # it stays: the process was killed, the machine was not
    ALL = "all"
    TORN = "torn"  # it survives in order up to a write, of which only the beginning does
    REORDERED = "reordered"  # any of it survives, some with zeros where bytes did not arrive
    ANY = "any"


# A write arrives in pieces that begin and end at multiples of this. Those of real disks are larger.
_SECTOR = 64


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

    def holed(self, rng: Random) -> _Change:
        """The file had grown, but some sectors of it, or all, had not arrived."""
        if not self.data:
            return self
        size = len(self.data)
        first, last = self.position // _SECTOR, (self.position + size) // _SECTOR
        start = rng.randint(first, last) * _SECTOR - self.position
        end = rng.randint(first, last) * _SECTOR + _SECTOR - self.position
        start, end = max(start, 0), min(max(start, end), size)
        return _Change(self.position, self.data[:start] + bytes(end - start) + self.data[end:])


@dataclass(slots=True, eq=False)
class _Node:
    """A file, whatever its names."""

    content: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    pending: list[_Change] = field(default_factory=list)
    modified_ms: int = 0

    def change(self, change: _Change) -> None:
        change.apply(self.content)
        self.pending.append(change)

    def sync(self) -> None:
        # Not a copy of the whole: a long file is synced often.
        for change in self.pending:
            change.apply(self.durable)
        self.pending.clear()

    def after_crash(self, rng: Random, loss: Loss) -> _Node:
        survivor = _Node(bytearray(self.durable), modified_ms=self.modified_ms)
        for change in self._survivors(rng, loss):
            change.apply(survivor.content)
        survivor.durable = bytearray(survivor.content)
        return survivor

    def _survivors(self, rng: Random, loss: Loss) -> list[_Change]:
        if loss is Loss.REORDERED:
            kept = [change for change in self.pending if rng.random() < 0.5]
            return [change.holed(rng) if rng.random() < 0.2 else change for change in kept]
        kept = _first_of(self.pending, rng, loss)
        if loss is Loss.TORN and kept:
            kept[-1] = kept[-1].torn(rng)
        return kept

    def fork(self) -> _Node:
        return _Node(
            bytearray(self.content), bytearray(self.durable), list(self.pending), self.modified_ms
        )


def _first_of(changes: Sequence[T], rng: Random, loss: Loss) -> list[T]:
    """Changes that survive in the order in which they were made."""
    if loss is Loss.NOTHING:
        return list(changes)
    return [] if loss is Loss.ALL else list(changes[: rng.randrange(len(changes) + 1)])


# What the disk says it has room for.
_TOTAL_BYTES = 1 << 40
_HARMLESS = ("open", "pread")


def is_harmless(operation: str) -> bool:
    """It changes nothing."""
    return operation in _HARMLESS


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
        change = _Change(position, bytes(data))
        self._node.change(change)
        self._node.modified_ms = self._disk.now_ms
        self._disk.wrote(self._path, change.data or b"")

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
        # Called before everything that changes the disk, and before every sync: the places where a crash may come.
        self.before_step: Callable[[], None] | None = None
        self._names: _Names = {}
        self._durable_names: _Names = {}
        self._pending: dict[str, list[_NameChange]] = {}
        self._directories: set[str] = set()
        # By parent: directories made since it was last synced.
        self._new_directories: dict[str, list[str]] = {}
        self._failing: dict[str, str] = {}

    # Faults ------------------------------------------------------------------------------------

    def crash(self, rng: Random, loss: Loss = Loss.ANY) -> None:
        """Power off and on again: only what was synced is sure to be there."""
        if loss is Loss.ANY:
            loss = rng.choice((Loss.TORN, Loss.REORDERED))
        for changes in self._pending.values():
            for gone, came in _first_of(changes, rng, loss):
                _apply(self._durable_names, gone, came)
        self._pending.clear()
        for made in self._new_directories.values():
            for directory in made[len(_first_of(made, rng, loss)) :]:
                self._forget_below(directory)
        self._new_directories.clear()
        survivors: dict[int, _Node] = {}
        for name, node in self._durable_names.items():
            if id(node) not in survivors:
                survivors[id(node)] = node.after_crash(rng, loss)
            self._durable_names[name] = survivors[id(node)]
        self._names = dict(self._durable_names)

    def fork(self) -> MemoryDisk:
        """Another disk in the same state, which then goes its own way."""
        forked = MemoryDisk()
        forked.now_ms = self.now_ms
        nodes: dict[int, _Node] = {}

        def copied(names: _Names) -> _Names:
            return {
                name: nodes.get(id(node)) or nodes.setdefault(id(node), node.fork())
                for name, node in list(names.items())
            }

        forked._names, forked._durable_names = copied(self._names), copied(self._durable_names)
        for directory, changes in list(self._pending.items()):
            forked._pending[directory] = [(gone, copied(came)) for gone, came in list(changes)]
        forked._directories = set(self._directories)
        forked._new_directories = {
            parent: list(made) for parent, made in list(self._new_directories.items())
        }
        return forked

    def fail(self, operation: str, suffix: str = "") -> None:
        """From now on the operation raises EIO for paths with this ending. `heal` ends it."""
        self._failing[operation] = suffix

    def heal(self) -> None:
        self._failing.clear()

    def may_fail(self, operation: str, path: str) -> None:
        if self.before_step is not None and operation not in _HARMLESS:
            self.before_step()
        if operation in self._failing and path.endswith(self._failing[operation]):
            raise OSError(errno.EIO, f"{operation} was told to fail", path)

    def wrote(self, path: str, data: bytes) -> None:
        """For those who want to know."""

    # The Disk port -----------------------------------------------------------------------------

    def open(self, path: str, create: bool = False) -> MemoryFile:
        self.may_fail("open", path)
        if create and path not in self._names:
            self.may_fail("create", path)
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
        """In the same steps as the real one, so that a crash can come between them."""
        temporary = path + ".tmp"
        self.write(temporary, data)
        self.may_fail("fsync", path)
        self._node(temporary).sync()
        self.rename(temporary, path)
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
        if path and path not in self._directories:
            self.may_fail("mkdir", path)
            self.mkdir(_parent(path))
            self._directories.add(path)
            if _parent(path):
                self._new_directories.setdefault(_parent(path), []).append(path)

    def rename(self, old: str, new: str) -> None:
        self.may_fail("rename", old)
        if old in self._directories:
            self._rename_directory(old, new)
        else:
            self._change_names(old, (old,), {new: self._node(old)})

    def remove(self, path: str) -> None:
        self.may_fail("remove", path)
        self._node(path)
        self._change_names(path, (path,), {})

    def rmtree(self, path: str) -> None:
        self.may_fail("rmtree", path)
        self._forget_below(path)

    def exists(self, path: str) -> bool:
        return path in self._names or path in self._directories

    def file_size(self, path: str) -> int:
        return len(self._node(path).content)

    def modified_ms(self, path: str) -> int:
        return self._node(path).modified_ms

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self._node(path).modified_ms = modified_ms

    def fsync_dir(self, path: str) -> None:
        self.may_fail("fsync_dir", path)
        self._new_directories.pop(path, None)
        for gone, came in self._pending.pop(path, ()):
            _apply(self._durable_names, gone, came)

    def space(self, path: str) -> Space:
        used = sum(len(node.content) for node in self._names.values())
        return Space(_TOTAL_BYTES, _TOTAL_BYTES - used)

    def lock(self, path: str) -> Lock | None:
        """No other process sees this disk. The file is there all the same."""
        return self.open(path, create=True)

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

    def _forget_below(self, path: str) -> None:
        # Copies of the lists: another thread may be at work in another directory.
        for directory in [d for d in list(self._directories) if _is_within(d, path)]:
            self._directories.discard(directory)
            self._pending.pop(directory, None)
        for names in (self._names, self._durable_names):
            for name in [name for name in list(names) if _is_within(name, path)]:
                del names[name]

    def _rename_directory(self, old: str, new: str) -> None:
        moved = {d: new + d[len(old) :] for d in self._directories if _is_within(d, old)}
        for directory in moved:
            self.fsync_dir(directory)
        made = self._new_directories.get(_parent(old), [])
        if old in made:
            made.remove(old)
        for names in (self._names, self._durable_names):
            for name in [name for name in names if _is_within(name, old)]:
                names[new + name[len(old) :]] = names.pop(name)
        self._directories = {moved.get(d, d) for d in self._directories}


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory + "/")


def _apply(names: _Names, gone: tuple[str, ...], came: _Names) -> None:
    for name in gone:
        names.pop(name, None)
    names.update(came)
