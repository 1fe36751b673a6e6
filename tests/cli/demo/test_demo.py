"""klamm demo: what `make run` shows. Its pipeline runs, and is checked, by `make run ONCE=1`, which CI calls."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from cli.commands import Klamm
from klamm.cli.cluster.local import LocalCluster
from klamm.cli.demo.brokers import check_nothing_is_lost
from klamm.cli.demo.clicks import pages_of
from klamm.cli.output import CommandError

KLAMM = str(Path(sys.executable).with_name("klamm"))


def until(lines: Iterable[str], start: str) -> Iterator[str]:
    for line in lines:
        yield line
        if line.startswith(start):
            return


def test_once_kills_a_broker_loses_nothing_and_says_how_to_get_spark(
    klamm: Klamm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)

    answer = klamm("demo", "--once", "--port", "0")

    assert answer.code == 0
    assert "$ klamm cluster stop --kill 1" in answer.text
    _, _, after = answer.text.partition("$ klamm consume")
    assert "ann:bought apples\n" in after
    assert "ann:paid\n" in after
    assert "Nothing is lost" in after
    assert "pip install 'klamm[pipeline]'" in after
    assert answer.text.endswith("It works.\n")


@pytest.mark.parametrize(
    "found",
    [
        ["ann:1", "bob:1"],
        ["ann:1", "ann:2", "bob:1", "bob:1"],
        ["ann:2", "ann:1", "bob:1"],
    ],
    ids=["lost", "twice", "order"],
)
def test_what_is_lost_repeated_or_out_of_order_is_found(found: list[str]) -> None:
    check_nothing_is_lost(("ann:1", "bob:1", "ann:2"), ["bob:1", "ann:1", "ann:2"])

    with pytest.raises(CommandError, match="did not come back"):
        check_nothing_is_lost(("ann:1", "bob:1", "ann:2"), found)


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
    command = [KLAMM, "demo", "--no-spark", "--port", "0", "--data", str(tmp_path / "data")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = list(until(process.stdout, "The brokers listen on"))
        cluster = LocalCluster.open(tmp_path / "data")
        process.send_signal(signal.SIGTERM)
        rest, err = process.communicate()

    assert lines[-3:-1] == ["It works.\n", "\n"]
    assert all(node.address in lines[-1] for node in cluster.brokers)
    assert (process.returncode, rest, err) == (0, "\nStopping.\n", "")
    assert [node.pid for node in cluster.nodes] == [None] * 3


def test_a_terminal_that_is_closed_in_the_middle_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [KLAMM, "demo", "--no-spark", "--port", "0", "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        list(until(process.stdout, '{"cluster_id"'))
        cluster = LocalCluster.open(tmp_path / "data")
        process.send_signal(signal.SIGHUP)
        process.communicate()

    assert [node.pid for node in cluster.nodes] == [None] * 3


def test_brokers_that_cannot_start_end_the_demo(klamm: Klamm, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").touch()

    answer = klamm("demo", "--once", "--port", "0", "--data", str(tmp_path / "data"))

    assert answer.code == 1
    assert "is not empty" in answer.err


def test_port_that_is_taken_is_told_with_what_helps_the_demo(klamm: Klamm) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        answer = klamm("demo", "--port", port)

    assert answer.code == 1
    assert "make run PORT=0" in answer.err
    assert "klamm demo --port 0" in answer.err
