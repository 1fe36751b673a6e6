"""What the machine allows this process: memory and open files."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
# Version 2 of control groups, then version 1.
_MEMORY_LIMITS = (_CGROUP / "memory.max", _CGROUP / "memory" / "memory.limit_in_bytes")


def memory_limit(limits: tuple[Path, ...] = _MEMORY_LIMITS) -> int:
    """The memory of the machine, or of the container if that is less."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in limits:
        # "max", or no such file: nobody set a limit.
        with suppress(OSError, ValueError):
            return min(physical, int(path.read_text()))
    return physical


def file_limit() -> int:
    """How many files and sockets may be open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 20


def raise_file_limit() -> None:
    """Take all that we may have: the soft limit is only there for programs that use select()."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
