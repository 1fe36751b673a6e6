"""A real standalone Spark cluster on loopback: one master and two workers from the PySpark installation."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyspark

from chaos.pipeline.waiting import until
from chaos.real.broker import HOST, free_port
from klamm.pipeline.jars import cache_directory
from klamm.pipeline.java import find_java, home_for_spark

START_SECONDS = 300.0
STOP_SECONDS = 20.0

_EXECUTOR = b"CoarseGrainedExecutorBackend"
# Small and short-lived: what the second compiler and a collector of many threads would gain comes too late.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Cluster:
    """`home` holds what its processes print and what executors keep. Used as a context."""

    def __init__(self, home: Path, *, workers: int = 2, cores: int = 1, memory: str = "1g") -> None:
        self.port = free_port()
        self._web_port = free_port()
        self._home = home
        self._daemons: list[subprocess.Popen[bytes]] = []
        home.mkdir(parents=True, exist_ok=True)
        try:
            at = ["--host", HOST, "--port", str(self.port), "--webui-port", str(self._web_port)]
            self._spawn("master.Master", at)
            until(self._is_up, "the master answers", seconds=START_SECONDS, seen=self.log)
            for number in range(workers):
                work = ["--work-dir", str(home / f"work-{number}"), "--host", HOST]
                size = ["--cores", str(cores), "--memory", memory]
                ports = ["--port", str(free_port()), "--webui-port", str(free_port())]
                self._spawn("worker.Worker", [*work, *size, *ports, self.master])
            until(
                lambda: self._state()["aliveworkers"] == workers,
                f"{workers} workers have registered",
                seconds=START_SECONDS,
                seen=self.log,
            )
        except BaseException:
            self.stop()
            raise

    @property
    def master(self) -> str:
        return f"spark://{HOST}:{self.port}"

    def executors(self) -> list[int]:
        """The processes that run tasks now, oldest first."""
        workers = {daemon.pid for daemon in self._daemons}
        return [pid for pid in _children(workers) if _EXECUTOR in _command(pid)]

    def kill_executor(self, index: int) -> int:
        """The worker starts another one in its place. Gives the process that was killed."""
        running = until(self.executors, "an executor runs", seconds=START_SECONDS, seen=self.log)
        victim = running[index % len(running)]
        os.kill(victim, signal.SIGKILL)
        return victim

    def log(self) -> str:
        files = sorted([*self._home.glob("*.log"), *self._home.glob("work-*/*/*/stderr")])
        return "\n".join(f"== {f.name}\n{f.read_text(errors='replace')[-4000:]}" for f in files)

    def stop(self) -> None:
        # Workers first: they end their executors.
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _spawn(self, daemon: str, arguments: Sequence[str]) -> None:
        spark_home = Path(pyspark.__file__).parent
        environment = os.environ | {
            "JAVA_HOME": str(home_for_spark(find_java(), cache=cache_directory())),
            "SPARK_HOME": str(spark_home),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_LOCAL_DIRS": str(self._home / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _JAVA_OPTIONS,
            "PYSPARK_PYTHON": sys.executable,
        }
        number = len(self._daemons)
        command = [str(spark_home / "bin" / "spark-class"), f"org.apache.spark.deploy.{daemon}"]
        with open(self._home / f"{number}-{daemon}.log", "wb") as log:
            self._daemons.append(
                subprocess.Popen(
                    [*command, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                )
            )

    def _is_up(self) -> bool:
        try:
            return bool(self._state())
        except OSError:
            return False

    def _state(self) -> dict[str, Any]:
        """As the master tells it."""
        url = f"http://{HOST}:{self._web_port}/json/"
        # Never through a proxy: it is this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=5) as answer:
            state: dict[str, Any] = json.load(answer)
        return state


def _children(parents: set[int]) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The command's name stands in brackets and may hold anything.
            _, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # It has ended.
        if int(parent) in parents:
            found.append(int(stat.parts[2]))
    return sorted(found)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
