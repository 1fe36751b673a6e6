"""Which queries of a pipeline are meant by `--sink` and `--view`."""

import pytest

from klamm.cli.output import UsageError
from klamm.cli.pipeline.progress.queries import Choice, choices_of, choose
from klamm.pipeline.spec import parse
from pipeline.cli import files

CHOICES = choices_of(parse(files.JOIN), there=["table.paid+topic.paid", "table.past"])


def test_choices_are_the_queries_of_the_file_and_those_of_the_past() -> None:
    assert [
        Choice(
            "table.paid+topic.paid",
            frozenset({"table.paid", "topic.paid"}),
            "paid",
            ("orders", "payments"),
        ),
        Choice("parquet.data-orders", frozenset({"parquet.data-orders"}), "orders", ("orders",)),
        Choice("dead-letters.orders", frozenset({"dead-letters.orders"}), None, ("orders",)),
        Choice("dead-letters.payments", frozenset({"dead-letters.payments"}), None, ("payments",)),
        Choice("table.past", frozenset({"table.past"})),
    ] == CHOICES


@pytest.mark.parametrize(
    ("sinks", "views", "queries"),
    [
        (["parquet.data-orders"], [], ["parquet.data-orders"]),
        (["topic.paid", "table.paid"], [], ["table.paid+topic.paid"]),
        ([], ["Paid"], ["table.paid+topic.paid"]),
        (["dead-letters.orders", "table.past"], [], ["dead-letters.orders", "table.past"]),
        ([], [], []),
    ],
)
def test_queries_are_chosen_by_sinks_and_views(
    sinks: list[str], views: list[str], queries: list[str]
) -> None:
    assert choose(CHOICES, sinks, views) == queries


def test_sink_that_shares_its_query_is_not_rebuilt_alone() -> None:
    with pytest.raises(UsageError) as mistake:
        choose(CHOICES, ["topic.paid"], [])

    assert str(mistake.value).startswith("topic.paid and table.paid are written by one query")
    assert mistake.value.hint.startswith("--sink table.paid as well")


def test_name_that_is_not_there_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match=r"there is no sink table\.pade; did you mean table\.paid"):
        choose(CHOICES, ["table.pade"], [])
    with pytest.raises(UsageError, match="there is no view input"):
        choose(CHOICES, [], ["input"])
