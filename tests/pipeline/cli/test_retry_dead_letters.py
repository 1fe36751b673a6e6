"""`klamm pipeline retry-dead-letters`: counted at first, sent when told to."""

from pathlib import Path
from uuid import uuid4

import pytest

from cli.commands import Klamm
from pipeline.cli import files
from pipeline.reading.records import create, put, records_of

PIPELINE = """\
name: {name}
source: {{topic: {name}, schema: "ms int"}}
expect: [{{name: sane, check: ms >= 0, otherwise: dead_letter}}]
dead_letter: {name}.dead
sink: {{console: true}}
"""


@pytest.fixture
def name(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A pipeline with two letters of one check and one of another."""
    monkeypatch.setenv("KLAMM_BOOTSTRAP", bootstrap)
    name = f"letters-{uuid4().hex[:8]}"
    create(bootstrap, name, f"{name}.dead")
    for value, check in ((b"-1", "sane"), (b"{no", "malformed"), (b"-2", "sane")):
        facts = {"klamm.pipeline": name, "klamm.check": check, "klamm.topic": name}
        headers = [(key, text.encode()) for key, text in facts.items()]
        put(bootstrap, f"{name}.dead", value, headers=headers)
    return name


@pytest.fixture
def file(home: Path, name: str) -> str:
    return files.write(home, PIPELINE.format(name=name))


def counts(rows: list[dict[str, object]]) -> list[tuple[object, object, object]]:
    return [(row["check"], row["records"], row["sent"]) for row in rows]


def test_letters_are_only_counted_at_first(
    pipeline: Klamm, bootstrap: str, name: str, file: str
) -> None:
    answer = pipeline("retry-dead-letters", file)

    assert answer.code == 0
    assert counts(answer.rows) == [("malformed", 1, False), ("sane", 2, False)]
    assert "nothing was sent; --execute does it" in answer.err
    assert records_of(bootstrap, name) == []


def test_letters_of_one_check_are_sent_again_and_no_more_than_asked_for(
    pipeline: Klamm, bootstrap: str, name: str, file: str
) -> None:
    send = ("retry-dead-letters", file, "--check", "sane", "--limit", "1", "--execute")

    first, second, third = (counts(pipeline(*send).rows) for _ in range(3))

    assert (first, second, third) == ([("sane", 1, True)], [("sane", 1, True)], [])
    assert [record.value() for record in records_of(bootstrap, name)] == [b"-1", b"-2"]


def test_check_that_the_pipeline_does_not_have_is_pointed_out(pipeline: Klamm, file: str) -> None:
    answer = pipeline("retry-dead-letters", file, "--check", "sain")

    assert (answer.code, answer.out) == (0, b"")
    assert "has no expectation sain now; it has malformed, sane" in answer.err


def test_pipeline_without_dead_letters_is_wrong_usage(pipeline: Klamm, home: Path) -> None:
    answer = pipeline(
        "retry-dead-letters", files.write(home, files.COPY.format(name="x", topic="x"))
    )

    assert answer.code == 2
    assert "pipeline x keeps no dead letters" in answer.err


def test_dead_letter_topic_that_is_not_there_is_one_sentence(
    pipeline: Klamm, home: Path, bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KLAMM_BOOTSTRAP", bootstrap)
    file = files.write(home, PIPELINE.format(name="never-made"))

    answer = pipeline("retry-dead-letters", file)

    assert answer.code == 1
    assert "never-made.dead" in answer.err
