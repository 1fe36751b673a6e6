"""klamm demo: what `make run` shows."""

import signal
import subprocess
import sys
from pathlib import Path

from cli.commands import Klamm
from support.brokers import free_port

KLAMM = str(Path(sys.executable).with_name("klamm"))


def test_once_shows_a_produce_and_a_consume_and_ends(klamm: Klamm, tmp_path: Path) -> None:
    answer = klamm("demo", "--once", "--port", str(free_port()), "--data", str(tmp_path / "data"))

    assert answer.code == 0
    assert "$ klamm serve" in answer.text
    assert "ann:bought apples\n" in answer.text
    assert answer.text.endswith("It works.\n")


def test_it_stays_up_and_leaves_nothing_behind_when_stopped(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    command = [
        KLAMM,
        "demo",
        "--port",
        address.rpartition(":")[2],
        "--data",
        str(tmp_path / "data"),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = next(line for line in process.stdout if line.startswith("The broker listens on"))
        process.send_signal(signal.SIGTERM)
        rest, err = process.communicate()

    assert address in said
    assert (process.returncode, rest, err) == (0, "\nStopping.\n", "")


def test_broker_that_cannot_start_ends_the_demo(klamm: Klamm, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    answer = klamm("demo", "--once", "--port", str(free_port()), "--data", str(tmp_path / "file"))

    assert answer.code == 1
    assert "the broker did not start" in answer.err
