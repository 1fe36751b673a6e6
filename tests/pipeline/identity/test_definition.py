"""Which changes of a pipeline make another query of it."""

from pathlib import Path

import pytest

from klamm.pipeline.identity.definition import definitions_of
from klamm.pipeline.spec import from_dict

FACTS: dict[str, object] = {
    "name": "p",
    "source": {"topic": "in", "schema": "n int"},
    "steps": [{"python": "own:twice"}],
    "dead_letter": "dead",
    "sinks": [{"topic": "out"}, {"jdbc": "jdbc:postgresql://h/d", "table": "t", "password": "x"}],
}
QUERY = "jdbc.t+topic.out"


def definitions(folder: Path | None = None, **changes: object) -> dict[str, object]:
    return {**definitions_of(from_dict({**FACTS, **changes}), folder)}


def test_every_query_has_one() -> None:
    assert set(definitions()) == {QUERY, "dead-letters.input"}


@pytest.mark.parametrize(
    "changes",
    [
        {"description": "words", "trigger": {"every": "5 seconds"}, "bootstrap": "other:9092"},
        {
            "sinks": [
                {"jdbc": "jdbc:postgresql://h/d", "table": "t", "password": "y"},
                {"topic": "out"},
            ]
        },
        {"sinks": [{"topic": "out", "writers": 3, "lost_marker": "skip"}, FACTS["sinks"][1]]},  # type: ignore[index]
    ],
)
def test_what_does_not_concern_the_rows_changes_nothing(changes: dict[str, object]) -> None:
    assert definitions(**changes) == definitions()


@pytest.mark.parametrize(
    "changes",
    [
        {"source": {"topic": "in", "schema": "n int", "start": "latest"}},
        {"steps": [{"python": "own:thrice"}]},
        {"expect": [{"name": "e", "check": "n > 0"}]},
    ],
)
def test_what_is_read_and_computed_does(changes: dict[str, object]) -> None:
    changed, before = definitions(**changes), definitions()

    assert all(changed[name] != before[name] for name in before)


def test_sink_is_its_querys_alone() -> None:
    changed = definitions(sinks=[{"topic": "out", "key": "n"}, FACTS["sinks"][1]])  # type: ignore[index]

    assert changed[QUERY] != definitions()[QUERY]
    assert changed["dead-letters.input"] == definitions()["dead-letters.input"]


def test_code_that_was_corrected_counts(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def twice(rows): ...\n")
    before = definitions(tmp_path)
    (tmp_path / "own.py").write_text("def twice(rows): return rows\n")

    assert definitions(tmp_path) != before
