"""The top level: which commands there are, how they begin, how they fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import klamm.cli
from cli.commands import Klamm
from cli.hostile.option_table import table
from klamm import __version__
from klamm.cli.app import COMMANDS
from support.brokers import free_port

CLI = Path(klamm.cli.__file__).parent
KLAMM = str(Path(sys.executable).with_name("klamm"))


def test_overview_names_every_command(klamm: Klamm) -> None:
    answer = klamm("--help")

    assert answer.code == 0
    assert all(f"  {name} " in answer.text for name in COMMANDS)


def test_no_command_is_wrong_usage(klamm: Klamm) -> None:
    assert klamm().code == 2


def test_version_is_printed(klamm: Klamm) -> None:
    assert klamm("--version").text == f"klamm {__version__}\n"


def test_unknown_command_suggests_the_nearest(klamm: Klamm) -> None:
    answer = klamm("topik", "list")

    assert (answer.code, answer.out) == (2, b"")
    assert "there is no command 'topik'" in answer.err
    assert "try: klamm topic" in answer.err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(klamm: Klamm, name: str) -> None:
    answer = klamm(name, "--help")

    assert answer.code == 0
    assert answer.text.lower().startswith(f"usage: klamm {name}")


# Their files are named after what they do.
OTHERWISE = {"pipeline"}


@pytest.mark.parametrize(
    "words", [words for words in table() if words[0] not in OTHERWISE], ids=" ".join
)
def test_command_is_found_by_its_name(words: tuple[str, ...]) -> None:
    """`klamm group reset-offsets` is cli/group/reset_offsets.py, `klamm topic create` is in cli/topic.py."""
    folders = {CLI, *(path for path in CLI.iterdir() if path.is_dir())}
    alone = {folder / f"{words[0]}.py" for folder in folders} | {CLI / words[0] / "command.py"}
    own = set((CLI / words[0]).rglob(f"{words[-1].replace('-', '_')}.py"))

    assert [
        path
        for path in (alone if len(words) == 1 else {CLI / f"{words[0]}.py"} | own)
        if path.exists()
    ]


@pytest.mark.parametrize(
    "arguments", [("topic", "list"), ("consume", "any"), ("cluster", "info"), ("produce", "any")]
)
def test_absent_broker_is_told_at_once_with_what_to_try(
    klamm: Klamm, arguments: tuple[str, ...]
) -> None:
    port = free_port()

    answer = klamm(*arguments, "-b", f"127.0.0.1:{port}")

    assert (answer.code, answer.out) == (1, b"")
    assert f"nothing listens on 127.0.0.1:{port}" in answer.err
    assert "klamm serve" in answer.err


@pytest.mark.parametrize(
    "address", ["", "localhost:", ":9092", "localhost:many", "localhost:70000"]
)
def test_nonsense_for_an_address_is_wrong_usage(klamm: Klamm, address: str) -> None:
    assert klamm("topic", "list", "-b", address).code == 2


def test_unknown_client_property_is_wrong_usage(ask: Klamm) -> None:
    answer = ask("topic", "list", "-X", "no.such.property=1")

    assert answer.code == 2
    assert "no.such.property" in answer.err


def test_broker_process_never_loads_what_only_clients_need() -> None:
    code = """
import sys
import klamm.cli.app, klamm.cli.serve, klamm.server.process
print([name for name in ("typer", "rich", "confluent_kafka", "pydantic") if name in sys.modules])
"""

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert loaded.stdout == "[]\n"


def test_reader_that_leaves_early_is_no_error() -> None:
    read_end, write_end = os.pipe()
    with subprocess.Popen(
        [KLAMM, "protocol", "list"], stdout=write_end, stderr=subprocess.PIPE
    ) as process:
        os.close(write_end)
        os.close(read_end)
        _, err = process.communicate()

    assert (process.returncode, err) == (0, b"")
