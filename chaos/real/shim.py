"""System calls of a broker that fail on command: faults.c, compiled on the spot and preloaded."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

_SOURCE = Path(__file__).with_name("faults.c")


class NoCompiler(Exception):
    """There is no C compiler here."""


class Shim:
    """`environment` is for the broker; `fail` and `heal` work while it runs."""

    def __init__(self, home: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            raise NoCompiler("no cc on the path")
        library = home / "faults.so"
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl"]
        subprocess.run(command, check=True, timeout=60)
        self._faults = home / "faults"
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(library),
            "CHAOS_FAULTS": str(self._faults),
        }

    def fail(self, call: str, error: int, directory: Path, *, once: bool = False) -> None:
        """call: fsync, pwrite or pread; error: a number of errno."""
        self._say(f"{call} {error} {directory.resolve()}/ {'once' if once else 'always'}\n")

    def slow_down(self, call: str, milliseconds: int, directory: Path) -> None:
        """Calls succeed, and take so much longer."""
        self._say(f"{call} {milliseconds} {directory.resolve()}/ slow\n")

    def _say(self, line: str) -> None:
        temporary = self._faults.with_suffix(".new")
        temporary.write_text(line)
        os.rename(temporary, self._faults)

    @property
    def has_struck(self) -> bool:
        """Whether a fault that was to come once has come."""
        return not self._faults.exists()

    def heal(self) -> None:
        self._faults.unlink(missing_ok=True)
