"""`klamm pipeline stop`: runs that other processes registered."""

import json
import os
import signal

import pytest

from cli.commands import Klamm
from klamm.pipeline.running import registry
from pipeline.cli.runner import running


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
        file = registry.state_folder("stats") / "run.json"
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
