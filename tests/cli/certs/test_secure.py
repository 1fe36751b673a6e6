"""klamm serve --secure, and commands that log in with a file of client settings."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import Klamm
from support.brokers import free_port

KLAMM = str(Path(sys.executable).with_name("klamm"))


class Secure:
    def __init__(self, data: Path) -> None:
        command = [KLAMM, "serve", "--secure", "--json", "--data", str(data)]
        self.process = subprocess.Popen(
            [*command, "--port", str(free_port())],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        self.ready = json.loads(self.process.stdout.readline())

    @property
    def client_settings(self) -> str:
        return str(self.ready["client_settings"])

    def stop(self) -> None:
        assert self.process.stdout is not None
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Secure]:
    running = Secure(tmp_path / "data")
    yield running
    running.stop()


def test_a_secure_broker_is_reached_with_the_settings_that_it_names(
    klamm: Klamm, secure: Secure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    login = ("--command-config", secure.client_settings)
    assert klamm("topic", "create", "t", *login).code == 0
    assert klamm("produce", "t", *login, stdin=b"one\n").code == 0
    # By klamm's own client, too.
    assert klamm("txn", "list", *login).code == 0

    monkeypatch.setenv("KLAMM_COMMAND_CONFIG", secure.client_settings)
    assert [row["topic"] for row in klamm("topic", "list").rows] == ["t"]
    monkeypatch.delenv("KLAMM_COMMAND_CONFIG")

    # Without the password nobody gets in.
    text = Path(secure.client_settings).read_text()
    wrong = tmp_path / "wrong.properties"
    wrong.write_text(text.replace('password="', 'password="not-'))
    refused = klamm("txn", "list", "-X", str(wrong))
    assert refused.code == 1
    assert "SASL_AUTHENTICATION_FAILED" in refused.err

    secure.stop()
    again = Secure(tmp_path / "data")
    try:
        rows = klamm("topic", "list", "--command-config", again.client_settings).rows
        assert [row["topic"] for row in rows] == ["t"]
    finally:
        again.stop()


def test_a_cluster_that_is_open_is_not_closed_by_the_way(klamm: Klamm, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\n")

    answer = klamm("serve", "--secure", "--data", str(tmp_path))

    assert answer.code == 2
    assert "has a cluster already" in answer.err


def test_what_is_neither_a_setting_nor_a_file_is_refused(klamm: Klamm) -> None:
    answer = klamm("topic", "list", "-X", "nonsense")

    assert answer.code == 2
    assert "'nonsense' is not of the form KEY=VALUE, and no file has this name" in answer.err
