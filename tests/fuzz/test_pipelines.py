"""The net under pipelines has no holes where it is asked to hold: a seed is one case, and a fault is seen. No Spark."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

from fuzz.pipelines import checking, oracle
from fuzz.pipelines.drawing.expressions import Expression
from fuzz.pipelines.drawing.sinks import TablePlan, TopicPlan
from fuzz.pipelines.drawing.steps import Item
from fuzz.pipelines.oracle import Expected
from fuzz.pipelines.reading import Found
from fuzz.pipelines.running import clear_case

from klamm.pipeline.spec import from_dict

COLUMNS = {"seq": "bigint", "user": "string"}
ROWS = [{"seq": 1, "user": "ann"}, {"seq": 2, "user": "bob"}, {"seq": 3, "user": "ann"}]
TOPIC = TopicPlan(
    view=-1,
    output="append",
    columns=COLUMNS,
    topic="out",
    partitions=1,
    format="json",
    key=Expression("user", "string", lambda row: row["user"]),
    is_exact=True,
    writers=(1,),
)
TABLE = TablePlan(
    view=-1,
    output="append",
    columns=COLUMNS,
    keys=("user",),
    table="out",
    format="delta",
    is_upsert=True,
    partition_by=(),
)


def test_same_seed_makes_the_same_case() -> None:
    first, second = (clear_case(7, "same", Path("/nowhere"), most=50) for _ in range(2))

    assert first.facts(0) == second.facts(0)
    assert [source.runs for source in first.sources] == [source.runs for source in second.sources]
    assert first.faults == second.faults


def test_drawn_files_are_pipelines_and_their_results_are_clear() -> None:
    for seed in range(60):
        case = clear_case(seed, "drawn", Path("/nowhere"), most=50, with_kills=seed % 2 == 0)

        for run in range(case.runs):
            from_dict(case.facts(run))
        assert all(oracle.expected(case, sink) for sink in case.sinks)


def test_what_is_as_it_must_be_is_no_problem() -> None:
    assert checking.check_topic(TOPIC, expected(), records(0, 1, 2)) == []
    assert checking.check_topic(TOPIC, expected(), records(1, 0, 2)) == [], "of other keys"
    assert checking.check_table(TABLE, expected(), [ROWS[2], ROWS[1]]) == []


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ((0, 1), "of 3: 1 lost, 0 doubled, 0 wrong"),
        ((0, 1, 2, 2), "of 3: 0 lost, 1 doubled, 0 wrong"),
        ((2, 1, 0), "order of key b'ann' from in/0, row 0 of 2"),
    ],
)
def test_topic_that_is_not_as_it_must_be_is_a_problem(found: tuple[int, ...], problem: str) -> None:
    first, *_ = checking.check_topic(TOPIC, expected(), records(*found))

    assert first.startswith(problem)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([ROWS[2]], 'no row for {"user": "bob"}'),
        ([ROWS[0], ROWS[1]], '{"seq": 1, "user": "ann"} where one of'),
        ([ROWS[2], ROWS[1], ROWS[1]], 'key {"user": "bob"} has 2 rows'),
    ],
)
def test_upsert_that_is_not_as_it_must_be_is_a_problem(
    rows: list[dict[str, Any]], problem: str
) -> None:
    first, *_ = checking.check_table(TABLE, expected(), rows)

    assert first.startswith(problem)


def expected() -> Expected:
    return Expected([Item(row, 0, "in/0") for row in ROWS], is_ordered=True)


def records(*numbers: int) -> list[Found]:
    made = []
    for number in numbers:
        row = ROWS[number]
        value = f'{{"seq": {row["seq"]}, "user": "{row["user"]}"}}'
        made.append(Found(0, str(row["user"]).encode(), value.encode(), ()))
    return made
