"""`klamm pipeline refresh` as far as it goes without Spark."""

from pathlib import Path

import pytest

from cli.commands import Klamm
from pipeline.cli import files

TABLES = """\
name: stats
source: {topic: clicks, format: text}
steps: [{view: copied, sql: SELECT value FROM input}]
sinks:
  - {table: raw, from: input}
  - {table: copy, format: delta}
"""


@pytest.fixture
def file(home: Path) -> str:
    return files.write(home, TABLES)


def test_refresh_shows_what_it_would_build_and_changes_nothing(pipeline: Klamm, file: str) -> None:
    answer = pipeline("refresh", file)

    assert answer.code == 0
    assert answer.rows == [
        {"query": "table.raw", "sink": "table.raw", "built": "raw__refresh", "refreshed": False},
        {
            "query": "table.copy",
            "sink": "table.copy",
            "built": "copy__refresh",
            "refreshed": False,
        },
    ]
    assert "nothing was changed" in answer.err


def test_refresh_takes_one_sink(pipeline: Klamm, file: str) -> None:
    answer = pipeline("refresh", file, "--sink", "table.copy")

    assert [row["sink"] for row in answer.rows] == ["table.copy"]


def test_refresh_of_a_topic_is_wrong_usage(pipeline: Klamm, home: Path) -> None:
    file = files.write(home, files.COPY.format(name="p", topic="t"))

    answer = pipeline("refresh", file, "--execute")

    assert answer.code == 2
    assert "topic.t-out cannot be rebuilt unseen" in answer.err
    assert "replay FILE --sink topic.t-out" in answer.err
