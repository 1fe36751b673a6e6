"""`klamm pipeline init`: a file to start from."""

from pathlib import Path

from cli.commands import Klamm
from klamm.pipeline.spec import parse


def test_init_writes_a_file_that_is_valid_as_it_stands(pipeline: Klamm, home: Path) -> None:
    answer = pipeline("init", "page-stats")

    assert answer.code == 0
    assert "klamm pipeline run page-stats.yaml" in answer.err
    assert parse((home / "page-stats.yaml").read_text()).name == "page-stats"
    assert pipeline("validate", "page-stats.yaml").code == 0


def test_init_never_overwrites(pipeline: Klamm, home: Path) -> None:
    (home / "mine.yaml").write_text("mine")

    answer = pipeline("init", "page-stats", "-f", "mine.yaml")

    assert answer.code == 2
    assert "mine.yaml is there already" in answer.err
    assert (home / "mine.yaml").read_text() == "mine"


def test_init_refuses_what_cannot_be_a_name(pipeline: Klamm, home: Path) -> None:
    answer = pipeline("init", "a b")

    assert answer.code == 2
    assert "expected a name of letters" in answer.err
    assert list(home.iterdir()) == []
