"""Tables that are rebuilt while readers see the old ones, on a real Spark."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.plan import plan_of
from klamm.pipeline.refresh import walking
from klamm.pipeline.refresh.walking import Wanted, refresh
from klamm.pipeline.running.checkpoint import only_writer
from klamm.pipeline.spec import Edge, Pipeline
from pipeline.running.pipelines import Stage, create, numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    Rows = dict[str, list[tuple[object, ...]]]


def three(stage: Stage, value: str) -> Pipeline:
    """One view and one query for each kind of table."""
    step = {"sql": f"SELECT n, {value} AS v FROM input"}
    return numbers(
        "fresh",
        steps=[{**step, "view": view} for view in ("a", "b", "c")],
        sinks=[
            {"table": "fresh", "from": "a"},
            {"table": "fresh", "format": "delta", "name": "delta", "from": "b"},
            {"parquet": str(stage.folder / "files"), "name": "files", "from": "c"},
        ],
    )


def rows_of(stage: Stage) -> "Rows":
    spark = stage.spark
    read = {
        "iceberg": spark.table("lake.default.fresh"),
        "delta": spark.read.format("delta").load(f"{stage.warehouse}/delta/fresh"),
        "files": spark.read.parquet(str(stage.folder / "files")),
    }
    return {name: sorted(tuple(row) for row in rows.collect()) for name, rows in read.items()}


def all_three(*rows: tuple[object, ...]) -> "Rows":
    return {name: list(rows) for name in ("iceberg", "delta", "files")}


def wanted(stage: Stage, pipeline: Pipeline) -> Wanted:
    return Wanted(
        pipeline=pipeline,
        queries=[query.name for query in plan_of(pipeline).queries],
        start=Edge.EARLIEST,
        bootstrap=stage.bootstrap,
        checkpoint=str(stage.checkpoint),
        warehouse=str(stage.warehouse),
    )


def refreshed(
    stage: Stage, pipeline: Pipeline, watch: "Callable[[object], None] | None" = None
) -> bool:
    return refresh(
        wanted(stage, pipeline),
        watch=watch,
        stop=threading.Event(),
        notice=stage.notices.append,
        spark=stage.spark,
    )


def forget_the_last_commit(query: Path) -> None:
    last = max(int(file.name) for file in (query / "commits").iterdir() if file.name.isdigit())
    for name in (f"{last}", f".{last}.crc"):
        (query / "commits" / name).unlink()


def test_tables_are_rebuilt_beside_the_old_ones_and_take_their_place(stage: Stage) -> None:
    create(stage.bootstrap, "fresh-in")
    stage.put("fresh-in", 1, 2)
    stage.run_once(three(stage, "'old'"))
    seen: list[Rows] = []
    # Another type: the old tables would not take it.
    corrected = three(stage, "7")

    assert refreshed(stage, corrected, lambda _: seen.append(rows_of(stage)))

    old = all_three((1, "old"), (2, "old"))
    assert [rows for rows in seen if rows != old] == []
    assert len(seen) > 0
    assert rows_of(stage) == all_three((1, 7), (2, 7))
    assert not stage.spark.catalog.tableExists("lake.default.fresh__refresh")
    assert not (stage.folder / "files__refresh").exists()
    assert not (stage.folder / "checkpoint.refresh").exists()

    # As if the build had died after its last batch: the new tables know that they have it.
    for query in ("table.fresh", "delta", "files"):
        forget_the_last_commit(stage.checkpoint / query)
    stage.put("fresh-in", 3)
    stage.run_once(corrected)

    assert rows_of(stage) == all_three((1, 7), (2, 7), (3, 7))


def test_refresh_that_was_cut_off_keeps_the_pipeline_from_running_until_it_is_finished(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(stage.bootstrap, "cut-in")
    files = {"parquet": str(stage.folder / "files"), "name": "files"}
    pipeline = numbers("cut", sink=files)
    stage.put("cut-in", 1, 2)
    stage.run_once(pipeline)

    with only_writer(str(stage.checkpoint)):  # As a run does.
        assert not refreshed(stage, pipeline)
    assert "stop it, then call refresh once more" in stage.notices[-1]
    with monkeypatch.context() as patched:
        patched.setattr(walking._Walk, "_exchange", lambda *_: 1 / 0)
        with pytest.raises(PipelineFailed, match="ZeroDivisionError"):
            refreshed(stage, pipeline)
    with pytest.raises(PipelineFailed, match=r"refresh FILE --sink files --execute` finishes it"):
        stage.run_once(pipeline)
    assert refreshed(stage, pipeline)
    stage.put("cut-in", 3)
    stage.run_once(pipeline)

    found = stage.spark.read.parquet(str(stage.folder / "files")).collect()
    assert sorted(row.n for row in found) == [1, 2, 3]
