"""The real disk, which knows the files that are open: nothing waits for the garbage collector to close them."""

from __future__ import annotations

import os
from weakref import WeakSet

from klamm.log.disk import RealDisk, RealFile


class KitFile(RealFile):
    __slots__ = ("__weakref__", "path")

    def __init__(self, fd: int, path: str) -> None:
        super().__init__(fd)
        self.path = path


class KitDisk(RealDisk):
    __slots__ = ("_files",)

    def __init__(self) -> None:
        self._files: WeakSet[KitFile] = WeakSet()

    def open(self, path: str, create: bool = False) -> KitFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        file = KitFile(os.open(path, flags, 0o644), path)
        self._files.add(file)
        return file

    def close_all(self) -> None:
        """The node has stopped."""
        for file in list(self._files):
            file.close()
