"""klamm demo: what `make run` shows. Its pipeline runs, and is checked, by `make run ONCE=1`, which CI calls."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from cli.commands import Klamm
from klamm.cli.demo.clicks import pages_of
from support.brokers import free_port

KLAMM = str(Path(sys.executable).with_name("klamm"))


def until(lines: Iterable[str], start: str) -> Iterator[str]:
    for line in lines:
        yield line
        if line.startswith(start):
            return


def test_once_shows_a_produce_and_a_consume_and_ends(klamm: Klamm, tmp_path: Path) -> None:
    place = ("--port", str(free_port()), "--data", str(tmp_path / "data"))

    answer = klamm("demo", "--once", "--no-spark", *place)

    assert answer.code == 0
    assert "$ klamm serve" in answer.text
    assert "ann:bought apples\n" in answer.text
    assert answer.text.endswith("It works.\n")


def test_without_spark_it_says_how_to_get_it(
    klamm: Klamm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    place = ("--port", str(free_port()), "--data", str(tmp_path / "data"))

    answer = klamm("demo", "--once", *place)

    assert answer.code == 0
    assert "ann:bought apples\n" in answer.text
    assert "pip install 'klamm[pipeline]'" in answer.text
    assert answer.text.endswith("It works.\n")


def test_pages_are_counted_without_the_times_that_cannot_be() -> None:
    sample = [
        {"user": "ann", "page": "/", "ms": 5},
        {"user": "bob", "page": "/", "ms": 9},
        {"user": "bob", "page": "/pay", "ms": 1},
        {"user": "ann", "page": "/pay", "ms": -1},
    ]

    assert pages_of(sample) == [
        {"page": "/", "clicks": 2, "slowest_ms": 9},
        {"page": "/pay", "clicks": 1, "slowest_ms": 1},
    ]


def test_it_stays_up_and_leaves_nothing_behind_when_stopped(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    command = [
        KLAMM,
        "demo",
        "--no-spark",
        "--port",
        address.rpartition(":")[2],
        "--data",
        str(tmp_path / "data"),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = list(until(process.stdout, "The broker listens on"))
        process.send_signal(signal.SIGTERM)
        rest, err = process.communicate()

    assert lines[-3:-1] == ["It works.\n", "\n"]
    assert address in lines[-1]
    assert (process.returncode, rest, err) == (0, "\nStopping.\n", "")


def test_broker_that_cannot_start_ends_the_demo(klamm: Klamm, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    answer = klamm("demo", "--once", "--port", str(free_port()), "--data", str(tmp_path / "file"))

    assert answer.code == 1
    assert "the broker did not start" in answer.err


def test_port_that_is_taken_is_told_with_what_helps_the_demo(klamm: Klamm, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        answer = klamm("demo", "--port", port, "--data", str(tmp_path / "data"))

    assert answer.code == 1
    assert "make run PORT=0" in answer.err
    assert "klamm demo --port 0" in answer.err
