"""The driver as its killer sees it: started, listened to, killed, started again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from chaos.pipeline.job import Job
from chaos.pipeline.waiting import until

ROOT = Path(__file__).parents[2]
START_SECONDS = 600.0
STOP_SECONDS = 120.0


class Ended(Exception):
    """The driver ended by itself; the message has what it said."""


class DriverProcess:
    def __init__(self, job: Job, *, bootstrap: str, master: str) -> None:
        self._job = job
        self._arguments = [job.name, str(job.home), str(job.warehouse), bootstrap, master]
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns at once: what it does is to be seen in `lines`."""
        self._starts += 1
        command = [sys.executable, "-m", "chaos.pipeline.driver", *self._arguments]
        # Runs are registered per user; this one is nobody's business.
        environment = os.environ | {"XDG_STATE_HOME": str(self._job.home / "state")}
        with open(self._file("out"), "wb") as out, open(self._file("err"), "wb") as err:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                # The JVM is in its group, so that both can be killed at one moment.
                start_new_session=True,
            )

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What this start has told so far."""
        whole = [
            line
            for line in self._file("out").read_text().splitlines(keepends=True)
            if line.endswith("\n")
        ]
        return [json.loads(line) for line in whole if line.startswith("{")]

    def notices(self) -> list[str]:
        return [line["notice"] for line in self.lines if "notice" in line]

    def batches(self) -> list[int]:
        return [line["batch"] for line in self.lines if "batch" in line]

    def wait_for_batches(self, count: int, *, seconds: float = START_SECONDS) -> None:
        """Until so many more have been reported than there are now."""
        wanted = len(self.batches()) + count
        until(
            lambda: self.check() and len(self.batches()) >= wanted,
            f"{count} batches are reported",
            seconds=seconds,
            seen=self.log,
        )

    def check(self) -> bool:
        """Raises Ended if it does not run."""
        process = self._process
        assert process is not None, "start() comes first"
        if process.poll() is not None:
            raise Ended(f"exit code {process.returncode}\n{self.log()}")
        return True

    def kill(self) -> None:
        """Python and the JVM at one moment."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def stop(self) -> int:
        """As a user does; gives the exit code, -9 if it did not end in time."""
        process = self._process
        if process is None or process.poll() is not None:
            return process.returncode if process else 0
        process.terminate()
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL

    def log(self) -> str:
        out, err = (self._file(name).read_text(errors="replace")[-6000:] for name in ("out", "err"))
        return f"== driver's stdout\n{out}\n== driver's stderr\n{err}"

    def _file(self, name: str) -> Path:
        return self._job.home / f"driver-{self._starts}.{name}"
