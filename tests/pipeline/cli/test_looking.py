"""`klamm pipeline list`, `status` and `stop`: runs that other processes registered."""

import json
import os
import signal
from pathlib import Path

import pytest

from cli.commands import Klamm
from klamm.pipeline.running import runs
from klamm.pipeline.spec import FromTime
from pipeline.cli import files
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


def test_status_shows_the_run_and_its_last_progress(pipeline: Klamm) -> None:
    with running("stats", lines=PROGRESS) as process:
        (row,) = pipeline("status", "stats").rows

    assert (row["state"], row["pid"], row["group"]) == ("running", process.pid, "pipeline.stats")
    assert row["metrics_port"] == 9404
    query = row["progress"]["queries"][0]
    assert (query["name"], query["input_records"]) == ("topic.page-stats", 1452)


def test_status_is_read_by_people_as_tables(pipeline: Klamm) -> None:
    with running("stats", lines=PROGRESS):
        text = pipeline("status", "stats", "-o", "table").text

    assert "running" in text
    assert "Queries\n" in text
    assert "09:06:42" in text, "the watermark"
    assert "Partitions\n" in text


def test_status_says_where_the_next_run_starts(pipeline: Klamm) -> None:
    with running("stats"):
        runs.set_start_override("stats", FromTime(1794818587000))
        (row,) = pipeline("status", "stats").rows

    assert row["next_start"] == "@2026-11-16T08:43:07.000Z"


def test_pipeline_that_never_ran_is_told_apart_from_one_that_ended(
    pipeline: Klamm, home: Path
) -> None:
    file = files.write(home, files.JOIN)

    unknown, never = pipeline("status", "nobody"), pipeline("status", file)

    assert (unknown.code, never.code) == (1, 1)
    assert "no pipeline nobody ran on this machine" in unknown.err
    assert "pipeline paid-orders did not run on this machine yet" in never.err


@pytest.mark.parametrize(
    ("at_end", "code", "result"),
    [
        ("stop", 0, "stopped"),
        ("fail", 1, "failed: the table is gone"),
        ("die", 1, "ended without a word; the next run goes on from the checkpoint"),
    ],
)
def test_stop_waits_and_says_how_it_ended(
    pipeline: Klamm, at_end: str, code: int, result: str
) -> None:
    with running("stats", at_end=at_end) as process:
        answer = pipeline("stop", "stats")

    assert answer.code == code
    assert answer.rows == [{"pipeline": "stats", "pid": process.pid, "result": result}]


def test_stop_of_what_does_not_run_says_so(pipeline: Klamm) -> None:
    with running("stats"):
        pipeline("stop", "stats")

    answer = pipeline("stop", "stats")

    assert (answer.code, answer.out) == (1, b"")
    assert "pipeline stats does not run: its last run was stopped" in answer.err


def test_stop_never_signals_a_process_that_only_has_the_number(pipeline: Klamm) -> None:
    with running("stats") as process:
        file = runs.state_folder("stats") / "run.json"
        facts = json.loads(file.read_text())
        file.write_text(json.dumps({**facts, "process_birth": "another boot/1"}))
        answer = pipeline("stop", "stats")
        is_still_there = process.poll() is None

    assert answer.code == 1
    assert "its last run died" in answer.err
    assert is_still_there


def test_stop_does_not_wait_for_ever(pipeline: Klamm) -> None:
    with running("stats") as process:
        # It hears nothing while it is halted.
        os.kill(process.pid, signal.SIGSTOP)
        answer = pipeline("stop", "stats", "--timeout", "0.1")
        os.kill(process.pid, signal.SIGCONT)

    assert answer.code == 1
    assert f"(pid {process.pid}) still finishes its batch" in answer.err
