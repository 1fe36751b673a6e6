"""What a refresh builds, and what it does not take."""

import pytest

from klamm.pipeline.plan import plan_of
from klamm.pipeline.refresh.planning import CannotRefresh, plan_refresh
from klamm.pipeline.spec import Edge, ParquetSink, Pipeline, TableSink, TopicSource, from_dict

FACTS: dict[str, object] = {
    "name": "p",
    "source": {"topic": "in", "schema": "n int", "start": "latest"},
    "steps": [{"sql": "SELECT n FROM input", "view": "a"}, {"sql": "SELECT 1 AS n FROM a"}],
    "dead_letter": "dead",
    "sinks": [
        {"topic": "out", "from": "input"},
        {"table": "sales.t", "from": "a", "mode": "upsert", "key": "n"},
        {"parquet": "/data/files/"},
    ],
}


def a_pipeline(**changes: object) -> Pipeline:
    return from_dict({**FACTS, **changes})


def test_sinks_are_built_beside_under_the_names_of_their_queries() -> None:
    pipeline = a_pipeline()

    plan = plan_refresh(pipeline, pipeline, ["table.sales.t", "parquet.data-files"], Edge.EARLIEST)

    table, folder = plan.pipeline.sinks
    assert isinstance(table, TableSink)
    assert (table.table, table.label, table.from_view) == (
        "sales.t__refresh",
        "table.sales.t",
        "a",
    )
    assert isinstance(folder, ParquetSink)
    assert (folder.parquet, folder.label) == ("/data/files__refresh", "parquet.data-files")
    assert [query.name for query in plan_of(plan.pipeline).queries] == list(plan.queries)
    assert plan.pipeline.name == "p.refresh"
    (source,) = plan.pipeline.sources
    assert isinstance(source, TopicSource)
    assert source.start is Edge.EARLIEST


@pytest.mark.parametrize(
    ("changes", "queries", "words"),
    [
        ({}, ["topic.out"], "topic.out cannot be rebuilt unseen"),
        (
            {"source": {"jdbc": "jdbc:postgresql://h/d", "table": "t"}, "dead_letter": None},
            ["table.sales.t"],
            "input is a database",
        ),
        (
            {"steps": [{"state": "m:C", "by": "n", "schema": "n int", "view": "a"}]},
            ["table.sales.t"],
            "a step with `state`",
        ),
    ],
)
def test_what_cannot_be_rebuilt_is_said(
    changes: dict[str, object], queries: list[str], words: str
) -> None:
    facts = {**FACTS, **changes}
    pipeline = from_dict({key: value for key, value in facts.items() if value is not None})

    with pytest.raises(CannotRefresh) as cannot:
        plan_refresh(pipeline, pipeline, queries, Edge.EARLIEST)

    assert str(cannot.value).startswith(words)
