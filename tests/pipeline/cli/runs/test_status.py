"""`klamm pipeline status`: runs that other processes registered."""

from pathlib import Path

from cli.commands import Klamm
from klamm.pipeline.running import registry
from klamm.pipeline.spec import FromTime
from pipeline.cli import files
from pipeline.cli.runner import running
from pipeline.running import recorded

PROGRESS = Path(recorded.__file__).with_name("progress.jsonl")


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
        registry.set_start_override("stats", FromTime(1794818587000))
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
