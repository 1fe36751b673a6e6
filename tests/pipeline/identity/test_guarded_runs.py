"""Whole runs over topics that were deleted and made again under the same name."""

import threading

import pytest

pytest.importorskip("pyspark")

from klamm.cli.connect import Cluster
from klamm.cli.pipeline.progress.accept import accept_topics, changed_queries
from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.running.run import run
from pipeline.identity.topics import make_again
from pipeline.running.pipelines import Stage, as_values, create, numbers, values


def test_topic_that_was_made_again_between_two_runs_stops_the_pipeline_until_it_is_accepted(
    stage: Stage,
) -> None:
    create(stage.bootstrap, "recreated-in", "recreated-out", partitions=1)
    pipeline = numbers("recreated")
    stage.put("recreated-in", *range(5))
    stage.run_once(pipeline)
    make_again(stage.bootstrap, "recreated-in", partitions=1)
    stage.put("recreated-in", *range(100, 112))

    with pytest.raises(PipelineFailed) as failure:
        stage.run_once(pipeline, file="recreated.yaml")

    told = str(failure.value)
    assert "topic recreated-in was deleted and made again" in told
    assert "`klamm pipeline replay recreated.yaml --from earliest --execute`" in told
    assert "`klamm pipeline accept recreated`" in told
    assert values(stage.bootstrap, "recreated-out") == as_values(*range(5))

    accept_topics(stage.checkpoint, changed_queries(stage.checkpoint, Cluster(stage.bootstrap)))
    stage.run_once(pipeline)

    # At the old offset: that is what was accepted.
    assert values(stage.bootstrap, "recreated-out") == as_values(*range(5), *range(105, 112))


def test_topic_that_is_made_again_between_two_batches_stops_the_pipeline(stage: Stage) -> None:
    create(stage.bootstrap, "between-in", "between-out", partitions=1)
    pipeline = numbers("between", trigger={"every": "1 second"})
    stage.put("between-in", *range(5))
    stop, is_made_again = threading.Event(), threading.Event()

    def after_the_first_batch(report: object) -> None:
        if not is_made_again.is_set() and values(stage.bootstrap, "between-out") == as_values(
            *range(5)
        ):
            is_made_again.set()
            make_again(stage.bootstrap, "between-in", partitions=1)
            stage.put("between-in", *range(100, 112))

    with pytest.raises(PipelineFailed, match="topic between-in was deleted and made again"):
        run(pipeline, **stage.how(watch=after_the_first_batch, stop=stop))  # type: ignore[arg-type]

    assert values(stage.bootstrap, "between-out") == as_values(*range(5))
