"""Running brokers for tests: klamm as a user starts it, and the real Apache Kafka beside it.

Each broker has a directory of its own for data and output and is gone, with it, after `stop()`.
"""

import json
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support import kafka_jars

HOST = "127.0.0.1"
START_SECONDS = 60.0
STOP_SECONDS = 20.0
POLL_SECONDS = 0.01
KAFKA_CONFIG = "server.properties"
CLUSTER_ID = "ZmFtb3VzLWZhbXVsdXMtZg"

# Below the range from which Linux takes ports for outgoing connections.
_PORTS = range(20_000, 32_000)
_KAFKA_OPTIONS = ("-Xmx512M", "-Xms512M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# Warnings of all, and how each start found its logs.
_LOG_OPTIONS = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.kafka.log.LogManager=info",
)


@dataclass(slots=True)
class Broker:
    """A broker process of this test run. `data_dir` holds the partitions."""

    address: str
    data_dir: Path
    process: subprocess.Popen[bytes]
    home: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def output(self) -> str:
        """All that it printed so far."""
        return _output(self.home)

    def stop(self, *, keep: bool = False) -> int:
        """Asks it to end and gives its exit code; `keep` leaves its files for a look or a restart."""
        code = _end(self.process, signal.SIGTERM)
        if not keep:
            shutil.rmtree(self.home, ignore_errors=True)
        return code

    def kill(self) -> None:
        """Ends it as a power failure would; its files stay."""
        _end(self.process, signal.SIGKILL)


def start_klamm(
    *,
    home: Path | None = None,
    port: int | None = None,
    settings: Mapping[str, object] | None = None,
    config: Path | None = None,
) -> Broker:
    """Starts `klamm serve` on a free port, or again on the home of an earlier one.

    With `config`, a server.properties of start_kafka, that file alone says where it listens and keeps its data.
    """
    home = home or Path(tempfile.mkdtemp(prefix="klamm-test-"))
    data_dir = home / "data"
    klamm = Path(sys.executable).with_name("klamm")
    place = ["--port", port or free_port(), "--data", data_dir]
    if config is not None:
        place = ["--config", config]
    command = [str(word) for word in (klamm, "serve", "--json", *place)]
    for key, value in (settings or {}).items():
        command += ["--set", f"{key}={value}"]
    process = _spawn(command, home)
    address = _wait("klamm", process, home, lambda: _address_in_ready_line(home))
    return Broker(address=address, data_dir=data_dir, process=process, home=home)


def start_kafka(
    *,
    home: Path | None = None,
    settings: Mapping[str, object] | None = None,
    with_log: bool = False,
) -> Broker:
    """Starts a real Kafka, one process that is broker and controller; or again on the home of an earlier one.

    Its output has its log, from warnings on, only if asked for: that needs one more jar.
    """
    home = home or Path(tempfile.mkdtemp(prefix="kafka-test-"))
    config = home / KAFKA_CONFIG
    if not config.exists():
        write_kafka_config(home, settings or {})
    data_dir = home / "data"
    if not (data_dir / "meta.properties").exists():
        format_for_kafka(config)
    process = _spawn(kafka_command(config, with_log=with_log), home)
    port = _client_port(config)
    address = _wait("Apache Kafka", process, home, lambda: _address_if_it_accepts(port))
    return Broker(address=address, data_dir=data_dir, process=process, home=home)


def format_for_kafka(config: Path, cluster_id: str = CLUSTER_ID) -> None:
    """Prepares the data directory of this server.properties with Kafka's own tool."""
    words = ("format", "-t", cluster_id, "-c", str(config))
    kafka_jars.run_java("kafka.tools.StorageTool", *words)


def kafka_command(config: Path, *, with_log: bool = False) -> list[str]:
    """The command line of a node of Kafka."""
    jars = kafka_jars.logging_classpath if with_log else kafka_jars.classpath
    options = (*_KAFKA_OPTIONS, *_LOG_OPTIONS)
    return kafka_jars.java_command("kafka.Kafka", str(config), options=options, jars=jars)


def write_kafka_config(home: Path, settings: Mapping[str, object]) -> Path:
    """The server.properties of a cluster of one that keeps its data in `home`; klamm understands it as well."""
    home.mkdir(parents=True, exist_ok=True)
    port, controller_port = _two_free_ports()
    defaults = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": home / "data",
    }
    config = home / KAFKA_CONFIG
    config.write_text("".join(f"{k}={v}\n" for k, v in {**defaults, **settings}.items()))
    return config


def _client_port(config: Path) -> int:
    found = re.search(r"^listeners=PLAINTEXT://[^:]+:(\d+)", config.read_text(), re.MULTILINE)
    assert found, f"{config} has no listener for clients"
    return int(found[1])


def free_port() -> int:
    """A port that nobody listens on now, outside the range for outgoing connections."""
    return _two_free_ports()[0]


def _two_free_ports() -> tuple[int, int]:
    while True:
        port = random.choice(_PORTS[::2])
        if not _is_taken(port) and not _is_taken(port + 1):
            return port, port + 1


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def _spawn(command: list[str], home: Path) -> subprocess.Popen[bytes]:
    home.mkdir(parents=True, exist_ok=True)
    # It stays in our process group: what interrupts the tests ends it, too.
    with open(home / "stdout", "wb") as out, open(home / "stderr", "ab") as err:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)


def _wait(
    name: str, process: subprocess.Popen[bytes], home: Path, ready: Callable[[], str | None]
) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if address := ready():
            return address
        if process.poll() is not None:
            raise AssertionError(f"{name} ended with {process.returncode}:\n{_output(home)}")
        time.sleep(POLL_SECONDS)
    _end(process, signal.SIGKILL)
    raise AssertionError(f"{name} was not ready after {START_SECONDS} s:\n{_output(home)}")


def _address_in_ready_line(home: Path) -> str | None:
    for line in (home / "stdout").read_text().splitlines(keepends=True):
        if line.endswith("\n") and line.startswith("{"):
            return str(json.loads(line)["address"])
    return None


def _address_if_it_accepts(port: int) -> str | None:
    with socket.socket() as probe:
        return f"{HOST}:{port}" if probe.connect_ex((HOST, port)) == 0 else None


def _output(home: Path) -> str:
    return "\n".join((home / name).read_text(errors="replace") for name in ("stdout", "stderr"))


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> int:
    if process.poll() is None:
        process.send_signal(how)
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
