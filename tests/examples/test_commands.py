"""Examples as the very commands that their pages show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PIPELINES = sorted(path.parent.name for path in EXAMPLES.glob("*/*.yaml"))


def first_command_of(name: str) -> list[str]:
    page = (EXAMPLES / name / "README.md").read_text()
    found = re.search(r"^\.venv/bin/python (-m examples\.\w+)", page, re.MULTILINE)
    assert found, f"the page of {name} shows no command"
    return [sys.executable, *found[1].split()]


@pytest.mark.spark
@pytest.mark.parametrize("name", ["activity"])
def test_command_of_the_page_shows_the_result_and_leaves_nothing_behind(name: str) -> None:
    pytest.importorskip("pyspark")

    done = subprocess.run(
        first_command_of(name), cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "The result is what plain Python computes from the same records." in done.stdout
    assert "Traceback" not in done.stderr


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
