"""docs/production.md as it is written: its three files on three machines, a rolling restart, and a machine that is lost."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.machines import KLAMM, Machines, machines

pytestmark = pytest.mark.cluster
PAGE = Path(__file__).parents[2] / "docs" / "production.md"
BOOTSTRAP = "10.0.0.1:9092,10.0.0.2:9092,10.0.0.3:9092"
NODES = (1, 2, 3)
LOST = 2


def files_of_the_page() -> dict[int, str]:
    """The first as it stands there, the others with the lines that the table names."""
    page = PAGE.read_text()
    block = re.search(r"^```properties\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert block, "the page shows no file"
    rows = re.findall(r"^\| `([\w.]+)` \| `(.+?)` \| `(.+?)` \|$", page, re.MULTILINE)
    assert {name for name, _, _ in rows} >= {"node.id", "listeners", "advertised.listeners"}
    found = {1: block[1]}
    for number in (2, 3):
        text = block[1]
        for row in rows:
            text = re.sub(
                rf"^{re.escape(row[0])}=.*$", f"{row[0]}={row[number - 1]}", text, flags=re.M
            )
        found[number] = text
    return found


class Installation:
    """What is on the three machines: files, directories, and a process each."""

    def __init__(self, home: Path, rack: Machines) -> None:
        self._home = home
        self._rack = rack
        self._processes: dict[int, subprocess.Popen[str]] = {}
        self.cluster_id = rack.klamm("storage", "random-uuid").strip()
        for number, text in files_of_the_page().items():
            placed = text.replace("/var/lib/klamm", str(self._data(number)))
            self._config(number).write_text(placed)

    def _data(self, number: int) -> Path:
        return self._home / f"data{number}"

    def _config(self, number: int) -> Path:
        return self._home / f"server{number}.properties"

    def log_of(self, number: int) -> Path:
        return self._home / f"log{number}"

    def format(self, number: int) -> None:
        config = str(self._config(number))
        self._rack.klamm("storage", "format", "--cluster-id", self.cluster_id, "--config", config)

    def start(self, *numbers: int) -> None:
        """Returns when all of them serve."""
        for number in numbers:
            command = (KLAMM, "serve", "--config", str(self._config(number)))
            self._processes[number] = self._rack.begin(
                self._rack.named(number), *command, log=self.log_of(number)
            )
        for number in numbers:
            ready = self._processes[number].stdout
            assert ready is not None
            assert "ready on" in ready.readline(), self.log_of(number).read_text()

    def end(self, number: int, how: signal.Signals) -> int:
        process = self._processes.pop(number)
        process.send_signal(how)
        code = process.wait(60)
        process.communicate()
        return code

    def lose(self, number: int) -> None:
        """The machine with all that it had; to the others it is only silent."""
        self._rack.pull_the_plug(number)
        self.end(number, signal.SIGKILL)
        shutil.rmtree(self._data(number))

    def close(self) -> None:
        for number in list(self._processes):
            self.end(number, signal.SIGKILL)


@pytest.fixture
def rack() -> Iterator[Machines]:
    with machines(len(NODES)) as made:
        yield made


@pytest.fixture
def installed(rack: Machines, tmp_path: Path) -> Iterator[Installation]:
    installed = Installation(tmp_path, rack)
    try:
        for number in NODES:
            installed.format(number)
        installed.start(*NODES)
        yield installed
    finally:
        installed.close()


@contextmanager
def somebody_writes(rack: Machines, home: Path) -> Iterator[None]:
    command = (sys.executable, "-m", "cluster.writer", BOOTSTRAP, "orders")
    writer = rack.begin(rack.hub, *command, log=home / "writer")
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        yield
        said, _ = writer.communicate(timeout=120)
    finally:
        writer.kill()
    assert writer.returncode == 0, (home / "writer").read_text()
    found = json.loads(said)
    assert found["refused"] == 0
    assert found["acknowledged"] > 100


def test_three_machines_are_restarted_one_after_the_other_and_one_is_lost(
    rack: Machines, installed: Installation, tmp_path: Path
) -> None:
    at = ("-b", BOOTSTRAP)
    rack.klamm("topic", "create", "orders", *at)
    rack.klamm("cluster", "health", "-w", "-i", "0.2", *at)

    with somebody_writes(rack, tmp_path):
        for number in NODES:
            assert installed.end(number, signal.SIGTERM) == 0
            installed.start(number)
            rack.klamm("cluster", "health", "-w", "-i", "0.2", *at)

        installed.lose(LOST)
        rack.plug_in(LOST)
        installed.format(LOST)
        installed.start(LOST)
        rack.klamm("cluster", "health", "-w", "-i", "0.2", *at)

    (cluster,) = map(json.loads, rack.klamm("cluster", "info", *at).splitlines())
    assert cluster["cluster_id"] == installed.cluster_id
    assert [broker["rack"] for broker in cluster["brokers"]] == ["a", "b", "c"]
