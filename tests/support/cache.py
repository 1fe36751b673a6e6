"""Things that are costly to bring (jars, modules, built programs): made once, kept for later runs.

It lives outside the checkout, in $KLAMM_TEST_CACHE or ~/.cache/klamm, and may be deleted at any time.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def root() -> Path:
    home = os.environ.get("KLAMM_TEST_CACHE")
    return Path(home) if home else Path.home() / ".cache" / "klamm"


def directory(name: str, fill: Callable[[Path], None]) -> Path:
    """The cached directory `name`; when it is not there yet, `fill` makes its content.

    It appears whole or not at all, and only one of several parallel test processes fills it.
    """
    wanted = root() / name
    if wanted.is_dir():
        return wanted
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with open(wanted.parent / f".{wanted.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not wanted.is_dir():
            _fill_and_rename(wanted, fill)
    return wanted


def _fill_and_rename(wanted: Path, fill: Callable[[Path], None]) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=f".{wanted.name}.", dir=wanted.parent))
    try:
        fill(unfinished)
        unfinished.rename(wanted)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def fingerprint(*parts: bytes) -> str:
    """A short name for some content, so that a changed source gets a directory of its own."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
