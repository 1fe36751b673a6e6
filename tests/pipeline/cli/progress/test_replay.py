"""`klamm pipeline replay`: progress that is set aside, on a real cluster."""

from pathlib import Path

import pytest

from cli.commands import Klamm
from klamm.cli.output import UsageError
from klamm.cli.pipeline.progress.replay import parse_when
from klamm.pipeline.running import registry
from klamm.pipeline.spec import Edge, FromTime
from pipeline.cli import files
from pipeline.cli.runner import running

NOW = 1_794_818_587_000


def folders_beside(checkpoint: Path) -> list[str]:
    return sorted(each.name for each in checkpoint.parent.iterdir())


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", Edge.EARLIEST),
        ("2 hours ago", FromTime(NOW - 7_200_000)),
        ("90min ago", FromTime(NOW - 5_400_000)),
        ("2026-11-15T10:00", FromTime(1_794_736_800_000)),
        ("@2026-11-15T10:00+01:00", FromTime(1_794_733_200_000)),
        ("1794736800000", FromTime(1_794_736_800_000)),
    ],
)
def test_replay_begins_at_the_earliest_at_a_time_or_some_time_ago(
    text: str, start: Edge | FromTime
) -> None:
    assert parse_when(text, now_ms=NOW) == start


@pytest.mark.parametrize(
    "text", ["", "latest", "yesterday", "2 hours", "2 moons ago", "2030-01-01"]
)
def test_replay_begins_nowhere_else(text: str) -> None:
    with pytest.raises(UsageError):
        parse_when(text, now_ms=NOW)


def test_replay_shows_what_it_would_do_and_changes_nothing(
    ask: Klamm, name: str, file: str, checkpoint: Path
) -> None:
    answer = ask("replay", file, "--from", "earliest")

    assert answer.code == 0
    assert answer.rows == [
        {
            "topic": name,
            "partition": 0,
            "processed": 3,
            "start": 0,
            "end_offset": 4,
            "records": 4,
            "replay": False,
        }
    ]
    assert "nothing was changed" in answer.err
    assert folders_beside(checkpoint) == ["checkpoint"]
    assert registry.start_override(name) is None


def test_replay_sets_the_progress_aside_and_the_next_run_starts_there(
    ask: Klamm, name: str, file: str, checkpoint: Path
) -> None:
    answer = ask("replay", file, "--from", "1 hour ago", "--execute")

    (aside,) = folders_beside(checkpoint)
    assert (answer.code, answer.rows[0]["start"], answer.rows[0]["replay"]) == (0, 0, True)
    assert aside.startswith("checkpoint.before-")
    assert (checkpoint.parent / aside / "topic.out" / "offsets").is_dir()
    assert str(checkpoint.parent / aside) in answer.err
    assert isinstance(registry.start_override(name), FromTime)


def test_replay_says_of_which_progress_it_speaks(
    ask: Klamm, name: str, file: str, checkpoint: Path, home: Path
) -> None:
    """The last run had a checkpoint of its own, which a replay without --checkpoint does not touch."""
    elsewhere = home / "elsewhere"
    last = registry.run_of_this_process(
        name, bootstrap="", master="", checkpoint=str(elsewhere), warehouse=""
    )
    with registry.registered(last):
        pass

    shown = ask("replay", file, "--from", "earliest")
    other = ask("replay", file, "--from", "earliest", "--execute")
    same = ask("replay", file, "--from", "earliest", "--execute", "--checkpoint", str(elsewhere))

    warning = f"its last run kept its progress in {elsewhere}: --checkpoint {elsewhere}"
    assert [warning in each.err for each in (shown, other, same)] == [True, True, False]
    assert f"the next run that keeps its progress in {checkpoint} starts there" in other.err
    assert f"the next run that keeps its progress in {elsewhere} starts there" in same.err


def test_replay_from_a_time_after_the_last_record_begins_with_the_next(
    ask: Klamm, file: str
) -> None:
    (row,) = ask("replay", file, "--from", "0 seconds ago").rows

    assert (row["start"], row["records"]) == (4, 0)


def test_replay_finds_the_topics_of_a_pattern(ask: Klamm, home: Path, name: str) -> None:
    text = (
        f'{{name: {name}, source: {{pattern: "{name}.*", format: text}}, sink: {{console: true}}}}'
    )

    rows = ask("replay", files.write(home, text), "--from", "earliest").rows

    assert [(row["topic"], row["records"]) for row in rows] == [(name, 4)]


@pytest.mark.parametrize(
    "command", [("replay", "--from", "earliest", "--execute"), ("reset", "--execute")]
)
def test_pipeline_that_runs_is_left_alone(
    ask: Klamm, name: str, file: str, checkpoint: Path, command: tuple[str, ...]
) -> None:
    with running(name) as process:
        answer = ask(*command, file)

    assert answer.code == 1
    assert f"pipeline {name} runs (pid {process.pid})" in answer.err
    assert f"klamm pipeline stop {name}" in answer.err
    assert (checkpoint / "topic.out").is_dir()


def test_replay_of_a_pipeline_without_topics_is_wrong_usage(ask: Klamm, home: Path) -> None:
    text = "{name: f, source: {files: /data, format: text}, sink: {console: true}}"

    answer = ask("replay", files.write(home, text), "--from", "earliest")

    assert answer.code == 2
    assert "reads no topic" in answer.err


def test_checkpoint_elsewhere_is_not_touched(ask: Klamm, file: str) -> None:
    answer = ask("reset", file, "--checkpoint", "s3a://bucket/stats", "--execute")

    assert answer.code == 1
    assert "s3a://bucket/stats is not on this machine" in answer.err
