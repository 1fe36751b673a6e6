"""`klamm serve` as a process: how it starts, why it does not, and how it ends."""

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from klamm.cli.app import main
from klamm.protocol.messages.metadata import MetadataRequest
from server.asking import append, fetched
from server.conftest import create_topic
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.brokers import Broker, start_klamm


class Ended(NamedTuple):
    code: int
    err: str


Serve = Callable[..., Ended]

KLAMM = Path(sys.executable).with_name("klamm")
CANNOT_START = 1
WRONG_SETTINGS = 2


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    running = start_klamm(home=tmp_path / "home")
    yield running
    running.stop()


@pytest.fixture
def serve(capfd: pytest.CaptureFixture[str]) -> Serve:
    """Runs a broker that should not come up, in this process: a hundred times faster than in one of its own."""

    def run(*arguments: object) -> Ended:
        capfd.readouterr()
        code = main(["serve", *map(str, arguments)])
        out, err = capfd.readouterr()
        assert out == ""
        return Ended(code, err)

    return run


def assert_refused(ended: Ended, code: int, *words: str, lines: int = 1) -> None:
    """It ended with the code and said why, in one line that a person can use."""
    assert (ended.code, len(ended.err.splitlines())) == (code, lines), ended.err
    for word in words:
        assert word in ended.err


def a_directory(path: Path) -> Path:
    """A data directory as a broker leaves it behind."""
    RunningNode(path).stop()
    return path


# -- ending -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_gracefully(broker: Broker, how: signal.Signals) -> None:
    with WireClient(broker.address) as client:
        topic = create_topic(client, "t")
        append(client, topic, b"kept")

        broker.process.send_signal(how)

        assert broker.process.wait(20) == 0
        assert client.is_closed_by_the_broker()
    assert (broker.data_dir / ".kafka_cleanshutdown").exists()
    assert "Traceback" not in broker.output()


def test_a_second_signal_while_it_stops_does_not_hurt(broker: Broker) -> None:
    with WireClient(broker.address) as client:
        create_topic(client, "t", partitions=50)

    broker.process.send_signal(signal.SIGTERM)
    broker.process.send_signal(signal.SIGINT)

    assert broker.process.wait(20) == 0
    assert (broker.data_dir / ".kafka_cleanshutdown").exists()


# -- starting -----------------------------------------------------------------------------------------------------------


def test_an_empty_directory_becomes_a_cluster_of_its_own(tmp_path: Path) -> None:
    with RunningNode(tmp_path / "new" / "data") as node, WireClient(node.address) as client:
        cluster_id = client.ask(MetadataRequest(topics=[])).cluster_id

    data = tmp_path / "new" / "data"
    written = {path.name for path in data.iterdir()}
    assert {"meta.properties", "bootstrap.checkpoint", "__cluster_metadata-0"} <= written
    assert f"cluster.id={cluster_id}" in (data / "meta.properties").read_text()


def test_memory_leaves_no_files_behind(tmp_path: Path) -> None:
    command = [str(KLAMM), "serve", "--port", "0", "--memory", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        ready = process.stdout.readline().decode()
        (data,) = (part for part in ready.split('"') if "klamm-" in part)
        assert Path(data).is_dir()
        process.terminate()
        assert process.wait(20) == 0
    assert not Path(data).exists()


def test_a_port_that_is_taken_is_named(serve: Serve, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        ended = serve("--data", tmp_path / "data", "-s", f"listeners=PLAINTEXT://127.0.0.1:{port}")

    assert_refused(ended, CANNOT_START, str(port), "taken")


def test_an_address_of_another_machine_is_named(serve: Serve, tmp_path: Path) -> None:
    ended = serve("--data", tmp_path / "data", "-s", "listeners=PLAINTEXT://192.0.2.1:9999")

    assert_refused(ended, CANNOT_START, "192.0.2.1:9999")


def test_a_name_without_address_is_named(serve: Serve, tmp_path: Path) -> None:
    ended = serve(
        "--data", tmp_path / "data", "-s", "listeners=PLAINTEXT://no.such.host.invalid:9999"
    )

    assert_refused(ended, CANNOT_START, "no.such.host.invalid")


def test_two_brokers_do_not_share_a_directory(serve: Serve, tmp_path: Path) -> None:
    with RunningNode(tmp_path) as node, WireClient(node.address) as client:
        ended = serve("--data", tmp_path, "--port", 0)

        assert_refused(ended, CANNOT_START, str(tmp_path), "in use")
        # And the first one is not disturbed.
        topic = create_topic(client, "t")
        append(client, topic, b"x")
        assert fetched(client, topic) == [b"x"]


def test_a_directory_of_another_node_is_refused(serve: Serve, tmp_path: Path) -> None:
    data = a_directory(tmp_path / "data")

    ended = serve("--data", data, "--port", 0, "-s", "node.id=7", "-s", "broker.id=7")

    assert_refused(ended, CANNOT_START, "node.id", "7", "meta.properties")


def test_directories_of_two_clusters_do_not_mix(serve: Serve, tmp_path: Path) -> None:
    both = f"{a_directory(tmp_path / 'a')},{a_directory(tmp_path / 'b')}"

    ended = serve("-s", f"log.dirs={both}", "--port", 0)

    assert_refused(ended, CANNOT_START, "cluster.id", "meta.properties")


def test_a_directory_that_is_not_a_brokers_is_left_alone(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")

    ended = serve("--data", tmp_path, "--port", 0)

    assert_refused(ended, CANNOT_START, str(tmp_path), "not empty")
    assert [each.name for each in tmp_path.iterdir() if each.name != ".lock"] == ["letters.txt"]


@pytest.mark.parametrize("content", ["version=1\n", "nonsense", "version=9\ncluster.id=x\n"])
def test_a_damaged_identity_is_named(serve: Serve, tmp_path: Path, content: str) -> None:
    (tmp_path / "meta.properties").write_text(content)

    ended = serve("--data", tmp_path, "--port", 0)

    assert_refused(ended, CANNOT_START, str(tmp_path / "meta.properties"))


def test_a_file_in_the_place_of_a_directory_is_named(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    ended = serve("--data", tmp_path / "file", "--port", 0)

    assert_refused(ended, CANNOT_START, str(tmp_path / "file"))


@pytest.mark.parametrize(
    "name",
    [
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        "log-start-offset-checkpoint",
    ],
)
def test_a_damaged_checkpoint_is_named(serve: Serve, tmp_path: Path, name: str) -> None:
    data = a_directory(tmp_path / "data")
    (data / name).write_text("0\n7\nnonsense\n")

    ended = serve("--data", data, "--port", 0)

    assert_refused(ended, CANNOT_START, name)


def test_a_damaged_metadata_log_is_named(serve: Serve, tmp_path: Path) -> None:
    data = a_directory(tmp_path / "data")
    (data / "__cluster_metadata-0" / "quorum-state").write_text("nonsense")

    ended = serve("--data", data, "--port", 0)

    assert_refused(ended, CANNOT_START, "__cluster_metadata-0/quorum-state")


# -- wrong settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("num.partitions=many", ("num.partitions", "many")),
        ("num.partitons=3", ("num.partitons", "num.partitions")),
        ("listeners=nonsense", ("listeners", "nonsense")),
        ("nonsense", ("nonsense",)),
    ],
)
def test_a_wrong_setting_is_named(
    serve: Serve, tmp_path: Path, setting: str, words: tuple[str, ...]
) -> None:
    ended = serve("--data", tmp_path / "data", "-s", setting)

    assert_refused(ended, WRONG_SETTINGS, *words)
    assert not (tmp_path / "data").exists()


def test_every_wrong_setting_of_a_file_is_told_with_its_line(serve: Serve, tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("# mine\nnum.partitions=many\nlog.segment.bytes=1\n")

    ended = serve("--data", tmp_path / "data", "--config", config)

    assert_refused(ended, WRONG_SETTINGS, f"{config}:2", f"{config}:3", lines=2)


def test_a_file_that_is_not_there_is_named(serve: Serve, tmp_path: Path) -> None:
    ended = serve("--config", tmp_path / "none.properties")

    assert_refused(ended, WRONG_SETTINGS, str(tmp_path / "none.properties"))
