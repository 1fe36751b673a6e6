"""One query of a pipeline is read again from the beginning; the other is not written twice."""

import pytest

pytest.importorskip("pyspark")

from klamm.cli.pipeline.progress.queries import choices_of, some_of
from klamm.cli.pipeline.progress.replay import start_again
from klamm.cli.pipeline.targets import target_of
from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.running import registry
from klamm.pipeline.spec import Edge
from pipeline.running.pipelines import Stage, as_values, create, numbers, values


def test_replay_of_one_query_leaves_the_others_where_they_are(stage: Stage) -> None:
    create(stage.bootstrap, "some-raw", "some-new")
    steps = [{"sql": "SELECT n * 2 AS n FROM input", "view": "twice"}]
    sinks: list[dict[str, object]] = [{"topic": "some-raw", "from": "input"}, {"topic": "some-out"}]
    pipeline = stage.pipeline("some", steps=steps, sinks=sinks)
    stage.put("some-in", 1, 2)
    stage.run_once(pipeline)
    chosen = some_of(choices_of(pipeline, ()), ["topic.some-out"], None)
    start_again(target_of(pipeline), stage.checkpoint, Edge.EARLIEST, chosen)

    # A sink that came meanwhile would begin where the other is to be replayed from.
    more = [{"sql": "SELECT n + 1 AS n FROM input", "view": "more"}]
    grown = numbers(
        "some",
        steps=[*steps, *more],
        sinks=[*({**s, "from": s.get("from", "twice")} for s in sinks), {"topic": "some-new"}],
    )
    with pytest.raises(PipelineFailed, match=r"topic\.some-new has no progress yet"):
        stage.run_once(grown)
    stage.run_once(pipeline)

    assert values(stage.bootstrap, "some-raw") == as_values(1, 2)
    assert values(stage.bootstrap, "some-out") == as_values(2, 2, 4, 4)
    assert registry.start_override("some") is None
