"""A klamm process that may be killed and started again on the same data and the same port. Linux only."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

HOST = "127.0.0.1"
START_SECONDS = 60.0
STOP_SECONDS = 20.0

# Below the range from which Linux takes ports for outgoing connections: a client that retries must not meet itself.
_PORTS = range(20_000, 32_000)


class Unready(Exception):
    """The broker did not start; the message has all that it printed."""


class BrokerProcess:
    """`home` holds what it prints and, unless directories are named, its data. `start` and `kill` may alternate."""

    def __init__(
        self,
        home: Path,
        *,
        settings: Mapping[str, object] | None = None,
        directories: Sequence[Path] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home
        self.directories = list(directories) or [home / "data"]
        self.port = free_port()
        self._settings = {
            "log.dirs": ",".join(map(str, self.directories)),
            **(settings or {}),
        }
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        home.mkdir(parents=True, exist_ok=True)

    @property
    def address(self) -> tuple[str, int]:
        return HOST, self.port

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Returns when clients can connect."""
        process = self._spawn()
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise Unready(f"exit code {process.returncode}\n{self.log()}")
            time.sleep(0.01)

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [str(Path(sys.executable).with_name("klamm")), "serve", "--json"]
        command += ["--port", str(self.port)]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        with open(self.home / "stdout", "wb") as out, open(self.home / "stderr", "ab") as err:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self._environment
            )
        return self._process

    def start_and_be_killed(self, seconds: float) -> None:
        """The process ends after this time, ready or not."""
        self._spawn()
        time.sleep(seconds)
        self.kill()

    def _is_ready(self) -> bool:
        lines = (self.home / "stdout").read_text().splitlines(keepends=True)
        return any(
            line.endswith("\n") and json.loads(line).get("event") == "ready" for line in lines
        )

    def memory_bytes(self) -> int:
        """What it has resident."""
        assert self._process is not None
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def log(self) -> str:
        """All that it wrote to its log, over all starts."""
        return (self.home / "stderr").read_text(errors="replace")

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """As an operator does; gives the exit code, -9 if it did not end by itself."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        process = self._process
        if process is None:
            return 0
        if process.poll() is None:
            process.send_signal(how)
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def free_port() -> int:
    while True:
        port = random.choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        return port
