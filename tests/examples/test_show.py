"""What the examples share: the check of a result, and what a person sees when something is wrong."""

import pytest
from examples.show import Unexpected, check, show_rows
from examples.stage import Stage, Trouble, as_json


def test_check_takes_rows_in_any_order() -> None:
    check("rows", [{"a": 1}, {"a": 2}, {"a": 2}], [{"a": 2}, {"a": 1}, {"a": 2}])


@pytest.mark.parametrize(
    "found", [[{"a": 1}], [{"a": 1}, {"a": 1}, {"a": 2}], [{"a": 1}, {"a": 3}], []]
)
def test_check_sees_each_row_that_is_missing_or_too_much(found: list[dict[str, int]]) -> None:
    with pytest.raises(Unexpected):
        check("rows", found, [{"a": 1}, {"a": 2}])


def test_table_shows_the_first_rows_and_how_many_more_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_rows("numbers", [{"number": n} for n in range(12)])

    printed = capsys.readouterr().out
    assert "numbers" in printed
    assert "9" in printed
    assert "... and 2 more" in printed


def test_topics_of_an_earlier_run_are_not_used_again(stage: Stage) -> None:
    stage.create("show.twice")

    with pytest.raises(Trouble, match=r"klamm topic delete show\.twice"):
        stage.create("show.once", "show.twice")


def test_what_was_sent_is_what_is_read(stage: Stage) -> None:
    stage.create("show.numbers", partitions=1)

    stage.send("show.numbers", [as_json("one", number=1), as_json(None, number=2)])

    assert stage.values("show.numbers") == [{"number": 1}, {"number": 2}]
    assert [record.key for record in stage.records("show.numbers")] == ["one", None]
