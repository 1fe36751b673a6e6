"""`klamm pipeline` as a user calls it, with folders of its own for everything that it keeps."""

import io
import os
import sys
from pathlib import Path

import pytest

from cli.commands import Answer, Klamm
from klamm.cli.app import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command is called; nothing of the machine's own pipelines is seen or changed."""
    for name in [name for name in os.environ if name.startswith("KLAMM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def pipeline(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Klamm:
    """Runs one command line of `klamm pipeline` and gives what it said."""

    def run(*arguments: str, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsysbinary.readouterr()
        code = main(("pipeline", *arguments))
        out, err = capsysbinary.readouterr()
        return Answer(code, out, err.decode())

    return run
