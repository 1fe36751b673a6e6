"""Commands as somebody would type them: printed, run as processes of their own, and their answers shown."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from klamm.cli.output import CommandError

# Tells the commands which cluster is meant.
_BOOTSTRAP = "KLAMM_BOOTSTRAP"


def tell(text: str) -> None:
    print(f"\n{text}", flush=True)


def say(*arguments: str, lines: Sequence[str] = (), after: str = "") -> None:
    piped = f"printf '%s\\n' {shlex.join(lines)} | " if lines else ""
    tell(f"$ {piped}klamm {shlex.join(arguments)}{after}")


def say_shell(*words: str) -> None:
    tell(f"$ {shlex.join(words)}")


def run(bootstrap: str, *arguments: str, lines: Sequence[str] = ()) -> str:
    """What it printed, after it was shown."""
    say(*arguments, lines=lines)
    done = subprocess.run(
        [*_klamm(), *arguments],
        input="".join(f"{line}\n" for line in lines),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, _BOOTSTRAP: bootstrap},
        check=False,
    )
    return _shown(arguments, done.stdout, done.returncode)


@dataclass(frozen=True, slots=True)
class Background:
    """A command that goes on while others are shown."""

    arguments: tuple[str, ...]
    process: subprocess.Popen[str]

    def wait(self) -> str:
        tell("$ wait")
        printed, _ = self.process.communicate()
        return _shown(self.arguments, printed, self.process.returncode)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.communicate()


def begin(bootstrap: str, *arguments: str) -> Background:
    say(*arguments, after=" &")
    process = subprocess.Popen(
        [*_klamm(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, _BOOTSTRAP: bootstrap},
    )
    return Background(arguments, process)


def let_run(*arguments: str) -> None:
    """What it prints is for people only: it goes to where ours goes, as a table on a terminal."""
    say(*arguments)
    done = subprocess.run([*_klamm(), *arguments], check=False)
    _shown(arguments, "", done.returncode)


def _shown(arguments: Sequence[str], printed: str, code: int) -> str:
    print(printed, end="", flush=True)
    if code:
        raise CommandError(f"klamm {arguments[0]} failed", why=f"exit code {code}")
    return printed


def _klamm() -> list[str]:
    """This very installation, whether or not `klamm` is on the PATH."""
    return [sys.executable, "-c", "import sys; from klamm.cli.app import main; sys.exit(main())"]
