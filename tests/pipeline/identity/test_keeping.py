"""What lies beside a checkpoint, and what Spark's own files there tell."""

from pathlib import Path

import pytest

from klamm.pipeline.identity.keeping import (
    Kept,
    LocalFiles,
    has_committed,
    positions,
    read_kept,
    write_kept,
)
from klamm.pipeline.identity.rules import Identity, Topic

# As Spark 4.1 writes it: a version, facts of the batch, and the sources: a topic, files, one that has nothing yet.
PLANNED = """\
v1
{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}
{"clicks":{"1":40,"0":50}}
{"logOffset":3}
-"""


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path)


def plan(folder: Path, batch: int, text: str) -> None:
    (folder / "q" / "offsets").mkdir(parents=True, exist_ok=True)
    (folder / "q" / "offsets" / f"{batch}").write_text(text)
    (folder / "q" / "offsets" / f".{batch}.crc").write_text("")


def test_position_is_that_after_the_last_batch_that_was_planned(
    tmp_path: Path, files: LocalFiles
) -> None:
    plan(tmp_path, 9, PLANNED.replace("50", "49"))
    plan(tmp_path, 10, PLANNED)

    assert positions(files, "q") == {"clicks": {0: 50, 1: 40}}
    assert positions(files, "q", before_batch=10) == {"clicks": {0: 49, 1: 40}}


def test_before_the_first_batch_there_is_what_it_plans(tmp_path: Path, files: LocalFiles) -> None:
    plan(tmp_path, 0, PLANNED)

    assert positions(files, "q", before_batch=0) == {"clicks": {0: 50, 1: 40}}


def test_without_a_plan_there_is_no_position(tmp_path: Path, files: LocalFiles) -> None:
    assert positions(files, "q") is None

    plan(tmp_path, 3, PLANNED)
    assert positions(files, "q", before_batch=2) is None


def test_topic_that_two_sources_read_is_where_the_slower_one_is(
    tmp_path: Path, files: LocalFiles
) -> None:
    plan(tmp_path, 0, 'v1\n{}\n{"clicks":{"0":7}}\n{"clicks":{"0":5}}')

    assert positions(files, "q") == {"clicks": {0: 5}}


def test_batch_counts_when_its_commit_is_there(tmp_path: Path, files: LocalFiles) -> None:
    plan(tmp_path, 0, PLANNED)
    assert not has_committed(files, "q")

    (tmp_path / "q" / "commits").mkdir()
    (tmp_path / "q" / "commits" / "0").write_text("v1\n{}")
    assert has_committed(files, "q")


def test_what_is_kept_is_read_again_and_what_is_not_ours_is_nothing(
    tmp_path: Path, files: LocalFiles
) -> None:
    kept = Kept(Identity("here", {"clicks": Topic("id", 3)}))
    assert read_kept(files, "q") is None

    write_kept(files, "q", kept)
    assert read_kept(files, "q") == kept

    (tmp_path / ".klamm" / "q.json").write_text("{")
    assert read_kept(files, "q") is None
