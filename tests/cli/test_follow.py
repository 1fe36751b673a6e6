"""klamm consume while time goes by: Ctrl-C, a broker that dies, a broker that comes back."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import Klamm
from support.brokers import Broker, free_port, start_klamm

KLAMM = str(Path(sys.executable).with_name("klamm"))


@pytest.fixture
def mortal(klamm: Klamm) -> Iterator[Broker]:
    """A broker that the test may kill, with one record in its topic."""
    broker = start_klamm(port=free_port())
    assert klamm("produce", "orders", "-a", "1", "-b", broker.address, stdin=b"first\n").code == 0
    yield broker
    broker.kill()
    shutil.rmtree(broker.home)


def following(broker: Broker, *arguments: str) -> "subprocess.Popen[str]":
    """A consumer that has read the first record and waits for the next."""
    command = [KLAMM, "consume", "orders", "-b", broker.address, "-f", "%s\\n", *arguments]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Who started the tests in the background may have told them to ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "first\n"
    return process


def test_ctrl_c_is_a_good_end(mortal: Broker) -> None:
    with following(mortal) as process:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()

    assert (process.returncode, err) == (0, "")


def test_reader_of_a_range_gives_up_when_the_cluster_is_gone(mortal: Broker) -> None:
    with following(mortal, "-o", "0:2") as process:
        mortal.kill()
        _, err = process.communicate()

    assert process.returncode == 1
    assert "reading stopped" in err
    assert "try:" in err


def test_follower_waits_for_the_cluster_to_come_back(klamm: Klamm, mortal: Broker) -> None:
    with following(mortal) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        mortal.kill()
        told = process.stderr.readline()
        again = start_klamm(home=mortal.home, port=int(mortal.address.rpartition(":")[2]))
        klamm("produce", "orders", "-a", "1", "-b", again.address, stdin=b"second\n")
        second = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate()
        again.kill()

    assert told == "klamm: the cluster is gone; waiting for it to come back\n"
    assert second == "second\n"
