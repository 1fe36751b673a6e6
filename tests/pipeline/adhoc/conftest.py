"""`klamm sql` and `klamm table` as a user calls them, in the session that is there."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from cli.commands import Answer
from klamm.cli.app import main

SECONDS = 20.0


@pytest.fixture(autouse=True)
def _folders_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("KLAMM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def klamm(
    bootstrap: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Answer]:
    """Runs one command line and gives what it said."""

    def run(*arguments: str) -> Answer:
        monkeypatch.setenv("KLAMM_BOOTSTRAP", bootstrap)
        capsysbinary.readouterr()
        code = main(arguments)
        out, err = capsysbinary.readouterr()
        return Answer(code, out, err.decode())

    return run


@pytest.fixture
def topic(bootstrap: str) -> Callable[..., str]:
    """A new topic that holds these values, all with the key `k`."""

    def make(name: str, *values: bytes | None, partitions: int = 2) -> str:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(SECONDS)
        producer = Producer({"bootstrap.servers": bootstrap})
        for number, value in enumerate(values):
            producer.produce(name, value, "k", partition=number % partitions)
        assert producer.flush(SECONDS) == 0
        return name

    return make
