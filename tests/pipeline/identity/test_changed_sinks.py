"""Sinks that join or leave a query, by the folders that its checkpoint has."""

from pathlib import Path

import pytest

from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.plan import Plan, plan_of
from klamm.pipeline.running.checkpoint import check_sinks, drop_unfinished
from pipeline.running.pipelines import numbers


@pytest.fixture
def plan() -> Plan:
    return plan_of(numbers("grown", sinks=[{"topic": "grown-out"}, {"console": True}]))


def has_run(checkpoint: Path, *parts: str) -> Path:
    """The query of one sink, as Spark leaves it."""
    folder = checkpoint / "topic.grown-out"
    for part in parts:
        (folder / part).mkdir(parents=True)
        (folder / part / "0").write_text("v1\n{}\n{}")
    return folder


def test_sink_more_on_a_view_does_not_start_over_unasked(tmp_path: Path, plan: Plan) -> None:
    has_run(tmp_path, "offsets", "commits")

    with pytest.raises(PipelineFailed) as failure:
        check_sinks(str(tmp_path), plan)

    assert str(failure.value).startswith(
        "the sinks that share a view changed (now console, topic.grown-out, before topic.grown-out), and "
        "topic.grown-out would be written from the beginning again"
    )


def test_query_that_never_finished_a_batch_makes_room(tmp_path: Path, plan: Plan) -> None:
    folder = has_run(tmp_path, "offsets")
    notices: list[str] = []

    check_sinks(str(tmp_path), plan)
    drop_unfinished(str(tmp_path), plan, notices.append)

    assert not folder.exists()
    assert [line.partition(":")[0] for line in notices] == ["topic.grown-out"]


def test_query_that_is_as_it_was_stays(tmp_path: Path) -> None:
    folder = has_run(tmp_path, "offsets")

    drop_unfinished(str(tmp_path), plan_of(numbers("grown")), pytest.fail)

    assert folder.exists()
