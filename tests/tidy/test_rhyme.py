"""The rhyme rule: an API has one file name, for its bytes, its answer and its tests; and a command is a file.
docs/architecture.md tells of it."""

from pathlib import Path

import pytest
import typer

from klamm.cli.cluster.command import app as cluster
from klamm.cli.group.command import app as group
from klamm.cli.pipeline.command import app as pipeline
from klamm.cli.txn.command import app as txn

ROOT = Path(__file__).parents[2]
HANDLERS = sorted(
    path.stem
    for path in (ROOT / "src/klamm/server/handlers").glob("*.py")
    if path.stem != "__init__"
)
TESTS = sorted((ROOT / "tests/server/handlers").glob("test_*.py"))


@pytest.mark.parametrize("api", HANDLERS)
def test_handler_rhymes_with_its_messages_and_its_tests(api: str) -> None:
    assert (ROOT / f"src/klamm/protocol/messages/{api}.py").is_file()
    assert (ROOT / f"tests/server/handlers/test_{api}.py").is_file()


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.stem))
def test_tests_of_handlers_are_named_after_one(path: Path) -> None:
    """More words may follow the API's: test_fetch_waiting.py."""
    name = path.stem.removeprefix("test_")
    assert any(name == api or name.startswith(f"{api}_") for api in HANDLERS)


@pytest.mark.parametrize(
    "app", [cluster, group, pipeline, txn], ids=["cluster", "group", "pipeline", "txn"]
)
def test_command_stands_in_the_file_of_its_name(app: typer.Typer) -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        name = (command.name or command.callback.__name__).replace("-", "_")
        assert command.callback.__module__.endswith(f".{name}")
