"""A small file system in memory for each node, to be filled up, and calls that are slow or fail on command."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from chaos.real.mounts import small_disk
from chaos.real.shim import Shim

_SIZE = "256m"
_CHUNK = bytes(1 << 20)


class Disks:
    """Raises CannotMount or NoCompiler where that is not possible."""

    def __init__(self, home: Path, nodes: Sequence[int]) -> None:
        self._home = home
        self._mounted = ExitStack()
        self._shims: dict[int, Shim] = {}
        try:
            for node in nodes:
                self._mounted.enter_context(small_disk(self.directory(node), _SIZE))
                tools = home / f"tools{node}"
                tools.mkdir()
                self._shims[node] = Shim(tools)
        except BaseException:
            self.close()
            raise

    def directory(self, node: int) -> Path:
        return self._home / f"disk{node}"

    def environment(self, node: int) -> Mapping[str, str]:
        return self._shims[node].environment

    def fill(self, node: int) -> None:
        with open(self._ballast(node), "wb", buffering=0) as ballast:
            size = len(_CHUNK)
            while size:
                try:
                    ballast.write(_CHUNK[:size])
                except OSError as e:
                    if e.errno != errno.ENOSPC:
                        raise
                    size //= 2

    def make_room(self, node: int) -> None:
        self._ballast(node).unlink(missing_ok=True)

    def slow_down(self, node: int, milliseconds: int) -> None:
        """Each fsync takes so much longer."""
        self._shims[node].slow_down("fsync", milliseconds, self.directory(node))

    def fail_once(self, node: int) -> None:
        """The next fsync says that it failed, and later ones that all is well."""
        self._shims[node].fail("fsync", errno.EIO, self.directory(node), once=True)

    def heal(self, node: int) -> None:
        self._shims[node].heal()

    def close(self) -> None:
        self._mounted.close()

    def _ballast(self, node: int) -> Path:
        return self.directory(node) / "ballast"
