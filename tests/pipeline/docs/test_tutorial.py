"""The tutorial of docs/pipelines.md, word for word: its files are written, its commands run, its output compared."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.brokers import Broker, start_klamm

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[3] / "docs" / "pipelines.md"
COMMAND_SECONDS = 240


@dataclass(frozen=True)
class File:
    name: str
    text: str


@dataclass(frozen=True)
class Command:
    line: str
    output: tuple[str, ...]


def tutorial() -> Iterator[File | Command]:
    text = PAGE.read_text().partition("## The tutorial")[2].partition("\n## ")[0]
    for before, language, body in re.findall(r"([^\n]*)\n\n```(\w+)\n(.*?)```", text, re.DOTALL):
        if language == "console":
            for part in body.split("$ ")[1:]:
                line, *output = part.splitlines()
                yield Command(line, tuple(output))
        elif name := re.search("[Ss]ave this as `([^`]+)`", before):
            yield File(name[1], body)


@pytest.fixture
def new_broker() -> Iterator[Broker]:
    broker = start_klamm()
    yield broker
    broker.stop()


def test_the_tutorial_does_what_it_says(new_broker: Broker, tmp_path: Path) -> None:
    parts = list(tutorial())
    assert len(parts) > 15
    home = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("DATA", "STATE")}
    bin_folder = str(Path(sys.executable).parent)
    env = {**os.environ, **home, "KLAMM_BOOTSTRAP": new_broker.address}
    env["PATH"] = f"{bin_folder}{os.pathsep}{env['PATH']}"
    for part in parts:
        if isinstance(part, File):
            (tmp_path / part.name).write_text(part.text)
        elif shlex.split(part.line)[:2] != ["klamm", "serve"]:  # it runs already
            check(part, cwd=tmp_path, env=env)


def check(command: Command, *, cwd: Path, env: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", command.line],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"$ {command.line}\n{done.stdout}{done.stderr}"
    if command.output:
        # Partitions and queries have no order among each other.
        assert sorted(done.stdout.splitlines()) == sorted(command.output), command.line
