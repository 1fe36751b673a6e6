"""`klamm pipeline lag`: how far a pipeline is, on a real cluster."""

from pathlib import Path

import pytest

from cli.commands import Klamm
from pipeline.cli import files
from pipeline.cli.runner import running


def test_lag_is_that_of_the_pipelines_group(ask: Klamm, name: str, file: str) -> None:
    (row,) = ask("lag", file).rows

    assert (row["group"], row["topic"], row["committed"], row["end_offset"], row["lag"]) == (
        f"pipeline.{name}",
        name,
        3,
        4,
        1,
    )


def test_lag_of_a_run_is_asked_where_it_runs(pipeline: Klamm, bootstrap: str, name: str) -> None:
    with running(name, bootstrap=bootstrap):
        (row,) = pipeline("lag", name).rows

    assert row["lag"] == 1


def test_cluster_of_the_file_wins_over_the_environment_and_the_flag_over_both(
    pipeline: Klamm,
    home: Path,
    bootstrap: str,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = files.COPY.format(name=name, topic=name) + "bootstrap: ${WHERE}\n"
    file = files.write(home, text)
    monkeypatch.setenv("KLAMM_BOOTSTRAP", "127.0.0.1:1")
    monkeypatch.setenv("WHERE", bootstrap)

    assert pipeline("lag", file).code == 0

    monkeypatch.setenv("WHERE", "127.0.0.1:2")
    assert "nothing listens on 127.0.0.1:2" in pipeline("lag", file).err
    assert pipeline("lag", file, "-b", bootstrap).code == 0


def test_variable_that_is_not_set_is_wrong_usage(pipeline: Klamm, home: Path, name: str) -> None:
    text = files.COPY.format(name=name, topic=name) + "bootstrap: ${KLAMM_NOT_SET}\n"

    answer = pipeline("lag", files.write(home, text))

    assert answer.code == 2
    assert "the variable KLAMM_NOT_SET in the environment" in answer.err
