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

from klamm.cli.app import main
from klamm.pipeline.running import registry
from support.brokers import Broker, start_klamm

PAGE = Path(__file__).parents[3] / "docs" / "pipelines.md"
COMMAND_SECONDS = 60


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


@pytest.fixture
def _in_a_new_home(
    new_broker: Broker, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    # The session of this process keeps its tables elsewhere, and `klamm sql` looks for them here.
    lake = Path(registry.warehouse())
    lake.parent.mkdir(parents=True)
    lake.symlink_to(warehouse)
    monkeypatch.setenv("KLAMM_BOOTSTRAP", new_broker.address)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("in_the_session", "_in_a_new_home")
def test_the_tutorial_does_what_it_says(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    parts = list(tutorial())
    assert len(parts) > 15
    for part in parts:
        if isinstance(part, File):
            (tmp_path / part.name).write_text(part.text)
        elif not part.line.startswith("klamm serve"):  # it runs already
            printed = run(part.line, capsysbinary)
            if part.output:
                # Partitions and queries have no order among each other.
                assert sorted(printed.splitlines()) == sorted(part.output), part.line


def run(line: str, captured: pytest.CaptureFixture[bytes]) -> str:
    """What it printed. Commands that need Spark find the session of this process, all others are a shell's."""
    klamm, *words = shlex.split(line)
    if words[0] == "sql" or words[:2] == ["pipeline", "run"]:
        assert klamm == "klamm"
        captured.readouterr()
        code = main(words)
        out, err = (stream.decode() for stream in captured.readouterr())
    else:
        done = subprocess.run(
            ["bash", "-c", line],
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    assert code == 0, f"$ {line}\n{out}{err}"
    return out
