"""Files that no command takes."""

from pathlib import Path

import pytest

from cli.commands import Klamm
from pipeline.cli import files
from pipeline.cli.test_validate import WRONG


@pytest.mark.parametrize(
    "command", [("run",), ("plan",), ("replay", "--from", "earliest"), ("status",), ("reset",)]
)
def test_commands_refuse_a_bad_file_with_all_its_problems(
    pipeline: Klamm, home: Path, command: tuple[str, ...]
) -> None:
    answer = pipeline(*command, files.write(home, WRONG))

    assert (answer.code, answer.out) == (2, b"")
    assert "2 problems in the pipeline" in answer.err
    assert "did you mean json?" in answer.err
    assert "did you mean delivery?" in answer.err


def test_file_that_is_not_there_is_wrong_usage_with_a_way_out(pipeline: Klamm) -> None:
    answer = pipeline("run", "nowhere.yaml")

    assert answer.code == 2
    assert "nowhere.yaml cannot be read: No such file or directory" in answer.err
    assert "klamm pipeline init -f nowhere.yaml" in answer.err
