"""Foreign programs that tests run: found on the PATH, or the test is skipped and says what is missing."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

DOWNLOAD_SECONDS = 600


def require(program: str, *, why: str) -> str:
    """The path of an installed program; skips the test when there is none."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed: {why}")
    return found


def run(
    command: Sequence[str | Path],
    *,
    timeout: float = 60,
    stdin: str | bytes | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    check: bool = True,
) -> str:
    """What the command printed on stdout. A failure shows everything it said."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [str(word) for word in command],
        input=data,
        stdin=subprocess.DEVNULL if data is None else None,
        capture_output=True,
        timeout=timeout,
        env=dict(env) if env is not None else None,
        cwd=cwd,
        check=False,
    )
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if check and done.returncode != 0:
        line = " ".join(str(word) for word in command)
        raise AssertionError(f"exit code {done.returncode} of: {line[:600]}\n{out}\n{err}")
    return out


def download(command: Sequence[str | Path], *, what: str, cwd: Path | None = None) -> None:
    """Runs a package manager; skips the test when the registry cannot be reached."""
    try:
        run(command, timeout=DOWNLOAD_SECONDS, cwd=cwd)
    except (AssertionError, subprocess.TimeoutExpired) as failure:
        pytest.skip(f"{what} could not be downloaded: {str(failure)[-800:]}")
