"""The commands, run in this process as `klamm` would run them, against a klamm of the tests' own.

KLAMM_TEST_BOOTSTRAP=HOST:PORT runs the same tests against another Kafka: the commands must not care.
"""

import io
import os
import sys
from collections.abc import Iterator
from uuid import uuid4

import pytest

from cli.commands import Answer, Klamm
from klamm.cli.app import main
from klamm.testing import Broker

OTHER_KAFKA = os.environ.get("KLAMM_TEST_BOOTSTRAP", "")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker reads KLAMM_... variables as settings, and those of whoever runs the tests are not meant for it."""
    for name in [name for name in os.environ if name.startswith("KLAMM_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def klamm(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Klamm:
    """Runs one command line and gives what it said."""

    def run(*arguments: str, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsysbinary.readouterr()
        code = main(arguments)
        out, err = capsysbinary.readouterr()
        return Answer(code, out, err.decode())

    return run


@pytest.fixture(scope="session")
def broker() -> Iterator[str]:
    """The address of a running broker."""
    if OTHER_KAFKA:
        yield OTHER_KAFKA
        return
    with Broker(process=True) as running:
        yield running.bootstrap_servers


@pytest.fixture
def ask(klamm: Klamm, broker: str, monkeypatch: pytest.MonkeyPatch) -> Klamm:
    """As `klamm`, with the broker's address known from the environment."""

    def run(*arguments: str, stdin: bytes = b"") -> Answer:
        monkeypatch.setenv("KLAMM_BOOTSTRAP", broker)
        return klamm(*arguments, stdin=stdin)

    return run


@pytest.fixture
def new_name() -> str:
    return f"cli-{uuid4().hex[:12]}"


@pytest.fixture
def topic(ask: Klamm, new_name: str) -> Iterator[str]:
    """A topic with two partitions that is gone after the test."""
    assert ask("topic", "create", new_name, "-p", "2").code == 0
    yield new_name
    ask("topic", "delete", new_name, "--if-exists")
