"""Small file systems of our own, to be filled up or broken. They need root, and are gone at the end of the block."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class CannotMount(Exception):
    """Not root, or a system without what is needed."""


@contextmanager
def small_disk(directory: Path, size: str) -> Iterator[None]:
    """A file system in memory with room for this much."""
    directory.mkdir(parents=True, exist_ok=True)
    _run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory))
    try:
        yield
    finally:
        _unmount(directory)


@contextmanager
def breakable_disk(directory: Path, image: Path, megabytes: int = 24) -> Iterator[None]:
    """ext4 in a file, which `break_disk` makes read-only as an error in its own data would."""
    directory.mkdir(parents=True, exist_ok=True)
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    _run("mkfs.ext4", "-q", "-F", str(image))
    _run("mount", "-o", "loop,errors=remount-ro", str(image), str(directory))
    try:
        yield
    finally:
        _unmount(directory)


def break_disk(directory: Path) -> None:
    """From here on every write says EROFS, also to files that are open."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    device = next(mount[0] for mount in mounts if mount[1] == str(directory))
    trigger = Path("/sys/fs/ext4", os.path.basename(os.path.realpath(device)), "trigger_fs_error")
    if not trigger.exists():
        raise CannotMount("this kernel cannot break an ext4 file system on command")
    trigger.write_text("1")


def _unmount(directory: Path) -> None:
    for _ in range(20):
        if subprocess.run(["umount", str(directory)], capture_output=True).returncode == 0:
            return
        # Whoever had files open there has just ended.
        time.sleep(0.1)
    subprocess.run(["umount", "-l", str(directory)], capture_output=True)


def _run(*command: str) -> None:
    if os.geteuid() != 0:
        raise CannotMount("only root may mount")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        raise CannotMount(f"there is no {command[0]} here") from None
    if done.returncode:
        raise CannotMount(done.stderr.strip())
