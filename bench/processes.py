"""Broker processes: starting klamm as a user does, and what the kernel knows of any process. Linux only."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from klamm.cli.certs.folder import broker_settings

START_SECONDS = 30.0
STOP_SECONDS = 20.0

_CPU_CLOCK = 2
_LISTENING = "0A"


class Unready(Exception):
    """klamm did not start."""


class KlammProcess:
    """`klamm serve` on a free port, with its data in a directory that goes with it."""

    def __init__(self, certificates: Path | None = None) -> None:
        """`certificates`: a folder of `klamm certs create`; clients come by TLS then."""
        self.home = Path(tempfile.mkdtemp(prefix="klamm-bench-"))
        command = [str(_klamm()), "serve", "--port", "0", "--data", str(self.home / "data")]
        if certificates is not None:
            for name, value in _tls_settings(certificates).items():
                command += ["--set", f"{name}={value}"]
        began = time.perf_counter_ns()
        with open(self.home / "stderr", "wb") as errors:
            self._process = subprocess.Popen(
                [*command, "--json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        try:
            self.address = self._read_address()
        except BaseException:
            self.stop()
            raise
        self.start_ns = time.perf_counter_ns() - began
        self.start_cpu_seconds = cpu_seconds(self.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _read_address(self) -> tuple[str, int]:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], START_SECONDS)
        line = self._process.stdout.readline() if readable else b""
        if not line:
            said = (self.home / "stderr").read_text(errors="replace")
            raise Unready(f"klamm was not ready after {START_SECONDS:.0f} s, or ended:\n{said}")
        return parse_address(str(json.loads(line)["address"]))


def _tls_settings(certificates: Path) -> dict[str, str]:
    return {
        "listeners": "SSL://127.0.0.1:9092",
        "security.inter.broker.protocol": "SSL",
        **broker_settings(certificates, "broker"),
    }


def parse_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def cpu_seconds(pid: int) -> float:
    """User and system time of all its threads so far.

    The same that /proc/PID/stat tells, which counts in steps of 10 ms; the process's own clock is exact. Its number is
    made as clock_getcpuclockid(3) makes it.
    """
    return time.clock_gettime(~pid << 3 | _CPU_CLOCK)


def rss_bytes(pid: int) -> int:
    """Memory that is really there now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def listener_of(port: int) -> int | None:
    """The process that listens on this port, as far as we may look."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) in sockets:
                return int(link.parts[2])
        except OSError:
            continue  # It ended, or it is somebody else's.
    return None


def _listening_inodes(port: int) -> list[str]:
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                found.append(fields[9])
    return found


def _klamm() -> Path:
    found = Path(sys.executable).with_name("klamm")
    if not found.exists():
        raise Unready(f"{found} is missing; `make setup` installs it")
    return found
