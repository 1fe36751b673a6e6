"""`klamm pipeline list`: runs that other processes registered."""

from pathlib import Path

from cli.commands import Klamm
from pipeline.cli.runner import running
from pipeline.running import recorded

PROGRESS = Path(recorded.__file__).with_name("progress.jsonl")


def test_nothing_runs_at_first(pipeline: Klamm) -> None:
    assert pipeline("list").rows == []


def test_list_shows_what_runs_and_what_died(pipeline: Klamm) -> None:
    with running("alive", lines=PROGRESS) as alive, running("dead", at_end="die") as dead:
        dead.terminate()
        dead.wait()
        rows = pipeline("list").rows

    assert [(row["pipeline"], row["state"], row["pid"], row["lag"]) for row in rows] == [
        ("alive", "running", alive.pid, 0),
        ("dead", "died", None, None),
    ]
