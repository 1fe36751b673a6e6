"""Machines of their own kind: network namespaces with an address each, on one bridge, and one more for who looks at them."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

KLAMM = str(Path(sys.executable).with_name("klamm"))
TESTS = Path(__file__).parents[1]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Machines:
    """Numbered from 1 on; 10.0.0.1 is the address of the first. Nothing of this is seen from outside."""

    def __init__(self, count: int) -> None:
        self._name = f"klamm-test-{os.getpid()}"
        self._count = count
        ip("netns", "add", self.hub)
        ip("-n", self.hub, "link", "add", "bridge0", "type", "bridge")
        ip("-n", self.hub, "addr", "add", "10.0.0.100/24", "dev", "bridge0")
        ip("-n", self.hub, "link", "set", "bridge0", "up")
        for number in range(1, count + 1):
            self._add(number)

    @property
    def hub(self) -> str:
        return f"{self._name}-hub"

    def named(self, number: int) -> str:
        return f"{self._name}-{number}"

    def _add(self, number: int) -> None:
        name, port = self.named(number), f"port{number}"
        ip("netns", "add", name)
        # fmt: off
        ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.hub)
        # fmt: on
        ip("-n", name, "addr", "add", f"10.0.0.{number}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            ip("-n", name, "link", "set", link, "up")
        ip("-n", self.hub, "link", "set", port, "master", "bridge0", "up")

    def pull_the_plug(self, number: int) -> None:
        """Nobody hears of it any more, nor it of them."""
        ip("-n", self.hub, "link", "set", f"port{number}", "down")

    def plug_in(self, number: int) -> None:
        ip("-n", self.hub, "link", "set", f"port{number}", "up")

    def begin(self, where: str, *command: str, log: Path) -> subprocess.Popen[str]:
        with log.open("a") as file:
            return subprocess.Popen(
                ["ip", "netns", "exec", where, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env={**os.environ, "PYTHONPATH": str(TESTS)},
            )

    def klamm(self, *words: str, seconds: float = 120) -> str:
        """A command of whoever looks after them."""
        command = ["ip", "netns", "exec", self.hub, KLAMM, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        assert done.returncode == 0, f"klamm {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def remove(self) -> None:
        for name in (self.hub, *map(self.named, range(1, self._count + 1))):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@contextmanager
def machines(count: int) -> Iterator[Machines]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and ip")
    try:
        made = Machines(count)
    except subprocess.CalledProcessError as refused:
        pytest.skip(f"this machine makes no network namespaces: {refused.stderr.strip()}")
    try:
        yield made
    finally:
        made.remove()
