"""A pipeline whose first start failed, and whose file was corrected since."""

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.identity.keeping import (
    Kept,
    forget_batches,
    forget_query,
    has_committed,
    kept_queries,
    positions,
    read_kept,
    write_kept,
)
from klamm.pipeline.identity.rules import Identity, Topic
from klamm.pipeline.sources.folder import Folder
from pipeline.running.pipelines import Stage, as_values, create, numbers, values


def test_first_start_that_failed_does_not_block_the_corrected_file(stage: Stage) -> None:
    create(stage.bootstrap, "mended-in", partitions=1)
    stage.put("mended-in", 1, 2, 3)
    wrong = numbers(
        "mended",
        steps=[{"sql": "SELECT n % 2 AS k, count(*) AS c FROM input GROUP BY n % 2"}],
        sink={"table": "mended", "mode": "upsert", "key": "missing", "output": "update"},
    )
    # Another key, and so another state.
    right = numbers(
        "mended",
        steps=[{"sql": "SELECT n AS k, 'x' AS s, count(*) AS c FROM input GROUP BY n, 'x'"}],
        sink={"table": "mended", "mode": "upsert", "key": "k", "output": "update"},
    )
    with pytest.raises(PipelineFailed, match="the key missing is not among the columns"):
        stage.run_once(wrong)

    stage.run_once(right)

    assert stage.spark.table("lake.default.mended").select("k", "c").count() == 3
    assert [line for line in stage.notices if "begun anew" in line] == [
        "table.mended: its first batch was never finished and the pipeline changed since, so it is begun anew; "
        "what the batch had written already is written again"
    ]


def test_where_it_starts_stays_when_only_what_is_computed_was_corrected(stage: Stage) -> None:
    create(stage.bootstrap, "late-in", "late-out", partitions=1)
    source = {"topic": "late-in", "schema": "n int", "start": "latest"}
    stage.put("late-in", 1)
    wrong = numbers("late", source=source, sink={"topic": "late-out", "key": "raise_error('no')"})
    stage.run_once(wrong)
    stage.put("late-in", 2)
    with pytest.raises(PipelineFailed):
        stage.run_once(wrong)
    stage.put("late-in", 3)

    stage.run_once(numbers("late", source=source))

    assert values(stage.bootstrap, "late-out") == as_values(2, 3)


def test_checkpoint_on_another_file_system_is_kept_by_the_same_rules(stage: Stage) -> None:
    files = Folder(stage.spark, str(stage.folder / "elsewhere"))
    kept = Kept(Identity("here", {"clicks": Topic("id", 3)}))
    assert (read_kept(files, "q"), positions(files, "q")) == (None, None)

    write_kept(files, "q", kept)
    files.write_text("q/offsets/0", 'v1\n{}\n{"clicks":{"0":5}}')

    assert (read_kept(files, "q"), positions(files, "q")) == (kept, {"clicks": {0: 5}})
    assert (kept_queries(files), has_committed(files, "q")) == (["q"], False)
    forget_batches(files, "q")
    assert positions(files, "q") is None
    forget_query(files, "q")
    assert (read_kept(files, "q"), files.names("q")) == (None, [])
