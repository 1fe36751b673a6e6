"""The real disk, as bad as a test wants it.

It knows the files that are open, so that nothing waits for the garbage collector to close them.
"""

from __future__ import annotations

import errno
import os
from weakref import WeakSet

from klamm.log.disk import RealDisk, RealFile
from klamm.testing.kit.faults.rules import Action, Armed

Data = bytes | bytearray | memoryview


class KitFile(RealFile):
    __slots__ = ("__weakref__", "_faults", "_path")

    def __init__(self, fd: int, path: str, faults: DiskFaults) -> None:
        super().__init__(fd)
        self._path = path
        self._faults = faults

    def pwrite(self, data: Data, position: int) -> None:
        if self._faults.all:
            self._faults.check(self, self._path, data, position)
        super().pwrite(data, position)

    def write_half(self, data: Data, position: int) -> None:
        super().pwrite(memoryview(data)[: len(data) // 2], position)


class KitDisk(RealDisk):
    __slots__ = ("_files", "faults")

    def __init__(self) -> None:
        self._files: WeakSet[KitFile] = WeakSet()
        self.faults = DiskFaults()

    def open(self, path: str, create: bool = False) -> KitFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        file = KitFile(os.open(path, flags, 0o644), path, self.faults)
        self._files.add(file)
        return file

    def close_all(self) -> None:
        """The node has stopped."""
        for file in list(self._files):
            file.close()


class DiskFaults:
    def __init__(self) -> None:
        self.all: list[Armed] = []

    def add(self, fault: Armed) -> None:
        self.all.append(fault)

    def remove(self, fault: Armed) -> None:
        if fault in self.all:
            self.all.remove(fault)

    def check(self, file: KitFile, path: str, data: Data, position: int) -> None:
        """OSError where a fault says so; of a torn write one half is there."""
        for fault in self.all:
            if fault.is_spent or not _is_meant(fault, path):
                continue
            fault.count += 1
            if fault.rule.action is Action.FULL_DISK:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            file.write_half(data, position)
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)


def _is_meant(fault: Armed, path: str) -> bool:
    """By the directory of a partition, orders-0. Without a name it is those of all topics, and not the metadata."""
    directory = os.path.basename(os.path.dirname(path))
    topic, _, index = directory.rpartition("-")
    rule = fault.rule
    if rule.topic is None and topic == "__cluster_metadata":
        return False
    return (
        path.endswith(".log")
        and rule.topic in (None, topic)
        and rule.partition in (None, int(index) if index.isdigit() else -1)
    )
