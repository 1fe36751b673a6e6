"""What the machine allows this process: memory, processor cores and open files."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from klamm.server.world.ports import Machine

_CGROUP = Path("/sys/fs/cgroup")
_CPU_QUOTA = _CGROUP / "cpu.max"
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


def cores(quota: Path = _CPU_QUOTA) -> float:
    """How many cores this process may use, or the container if that is less."""
    # Only Linux says which ones.
    usable = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    # "max 100000", or no such file: nobody set a limit.
    with suppress(OSError, ValueError):
        microseconds, period = map(int, quota.read_text().split())
        return min(usable, microseconds / period)
    return usable


def file_limit() -> int:
    """How many files and sockets may be open."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 20


def raise_file_limit() -> None:
    """Take all that we may have: the soft limit is only there for programs that use select()."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def this_machine() -> Machine:
    return Machine(memory_bytes=memory_limit(), cores=cores(), open_files=file_limit())
