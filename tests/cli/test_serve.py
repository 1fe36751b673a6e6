"""klamm serve: where settings come from, what it says when it is up, and why it does not come up."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import Klamm
from klamm.base.settings.load import SettingsError
from klamm.cli.serve import default_data_directory, read_settings
from support.brokers import free_port

KLAMM = str(Path(sys.executable).with_name("klamm"))


def serve(*arguments: str) -> "subprocess.Popen[str]":
    command = [KLAMM, "serve", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_ready_line_names_address_cluster_and_data(tmp_path: Path) -> None:
    port = free_port()
    with serve("--port", str(port), "--data", str(tmp_path / "data")) as process:
        line = first_line(process)
        process.terminate()
        process.communicate()

    expected = rf"klamm ready on 127\.0\.0\.1:{port} \(cluster \S{{22}}, data {re.escape(str(tmp_path / 'data'))}\)\n"
    assert re.fullmatch(expected, line)
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_memory_is_forgotten_at_a_clean_stop(number: int) -> None:
    with serve("--port", "0", "--memory", "--json") as process:
        ready = json.loads(first_line(process))
        existed = Path(ready["data"]).exists()
        process.send_signal(number)
        process.communicate()

    assert ready["event"] == "ready"
    assert (existed, Path(ready["data"]).exists(), process.returncode) == (True, False, 0)


def test_ends_with_the_program_that_started_it() -> None:
    """Whose end of the pipe closes however it ends."""
    command = [KLAMM, "serve", "--port", "0", "--memory", "--json", "--end-with-stdin"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        ready = json.loads(first_line(process))
        process.communicate(timeout=60)

    assert ready["pid"] == process.pid
    assert (Path(ready["data"]).exists(), process.returncode) == (False, 0)


def test_second_broker_cannot_have_the_port_or_the_directory(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with serve("--port", "0", "--data", data, "--json") as first:
        port = json.loads(first_line(first))["address"].rpartition(":")[2]
        with serve("--port", port, "--memory") as same_port:
            out_port, err_port = same_port.communicate()
        with serve("--port", "0", "--data", data) as same_directory:
            out_directory, err_directory = same_directory.communicate()
        first.terminate()
        first.communicate()

    assert (same_port.returncode, same_directory.returncode, first.returncode) == (1, 1, 0)
    assert (out_port, out_directory) == ("", "")
    assert f":{port}" in err_port
    assert data in err_directory
    assert len(err_port.splitlines()) == len(err_directory.splitlines()) == 1


def test_every_mistake_in_the_settings_is_one_line(klamm: Klamm, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=many\nlog.segmnt.bytes=1\n")

    answer = klamm("serve", "--config", str(file), "--set", "num.io.threads=0")

    lines = answer.err.splitlines()
    assert (answer.code, answer.out, len(lines)) == (2, b"", 3)
    assert any(f"{file}:1" in line and "num.partitions" in line for line in lines)
    assert any("log.segment.bytes" in line for line in lines)


def test_missing_config_file_is_wrong_usage(klamm: Klamm) -> None:
    answer = klamm("serve", "--config", "/no/such/file")

    assert answer.code == 2
    assert answer.err == "klamm: /no/such/file: cannot be read: No such file or directory\n"


def test_flags_win_over_environment_over_file(tmp_path: Path) -> None:
    file = tmp_path / "klamm.toml"
    file.write_text('log.dirs = "/file"\nnum.partitions = 3\nnum.io.threads = 3\n')
    env = {
        "KLAMM_LOG_DIRS": "/environment",
        "KLAMM_NUM_PARTITIONS": "5",
        "KLAMM_BOOTSTRAP": "elsewhere:1",
    }

    settings = read_settings([str(file)], env=env, overrides=["log.dirs=/flag"])

    assert settings.log.directories == ("/flag",)
    assert settings.topics.num_partitions == 5


def test_data_lives_in_a_user_directory_unless_told() -> None:
    assert default_data_directory({"HOME": "/home/ann"}) == "/home/ann/.local/share/klamm"
    assert default_data_directory({"HOME": "/home/ann", "XDG_DATA_HOME": "/data"}) == "/data/klamm"
    assert read_settings([], env={"HOME": "/home/ann"}).log.directories == (
        "/home/ann/.local/share/klamm",
    )


def test_port_changes_the_listener_of_the_clients_only(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@localhost:9093\n"
        "listeners=CONTROLLER://:9093,PLAINTEXT://[::1]:9092\ncontroller.listener.names=CONTROLLER\n"
    )

    settings = read_settings([str(file)], env={}, port=7)

    assert [str(each) for each in settings.listeners.all()] == [
        "CONTROLLER://:9093",
        "PLAINTEXT://[::1]:7",
    ]


def test_setting_without_a_value_is_refused() -> None:
    with pytest.raises(SettingsError):
        read_settings([], env={}, overrides=["num.partitions"])
