"""Examples as the very commands that their pages show."""

import re
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from examples.stage import Stage

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PIPELINES = sorted(path.parent.name for path in EXAMPLES.glob("*/*.yaml"))


def test_command_of_the_page_shows_the_result_and_that_it_is_right(
    stage: "Stage", capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, where the session is, and on a broker that can be looked at afterwards."""
    page = (EXAMPLES / "activity" / "README.md").read_text()
    command = re.search(r"^\.venv/bin/python -m (examples\.\w+)", page, re.MULTILINE)
    assert command, "the page shows no command"
    monkeypatch.setattr(sys, "argv", ["python", "-b", stage.bootstrap])

    with pytest.raises(SystemExit) as ended:
        runpy.run_module(command[1], run_name="__main__")

    assert ended.value.code == 0
    assert (
        "The result is what plain Python computes from the same records." in capsys.readouterr().out
    )
    records = stage.records("activity.visits")
    assert len(records) > 50
    assert all(record.key in record.value.decode() for record in records), "the key is the user"


def test_broker_of_its_own_serves_until_the_example_ends() -> None:
    from examples.stage import running_klamm

    from klamm.cli.connect import check_reachable
    from klamm.cli.output import CommandError

    with running_klamm() as address:
        check_reachable(address)

    with pytest.raises(CommandError):
        check_reachable(address)


@pytest.mark.parametrize("name", sorted(set(PIPELINES)))
def test_every_example_has_a_page_that_the_list_names(name: str) -> None:
    assert (EXAMPLES / name / "README.md").exists()
    assert f"python -m examples.{name}`" in (EXAMPLES / "README.md").read_text()


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*/*.yaml")), ids=lambda f: f.parent.name)
def test_every_pipeline_file_is_valid(file: Path) -> None:
    from klamm.pipeline.spec import parse

    parse(file.read_text(), file.name)


def test_cluster_that_is_not_there_is_one_sentence() -> None:
    from examples.show import play

    def never(stage: object) -> None:
        raise AssertionError("it must not get that far")

    code = play("activity", never, description="", arguments=["-b", "127.0.0.1:1"])

    assert code == 1
