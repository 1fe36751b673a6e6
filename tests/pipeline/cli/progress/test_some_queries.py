"""`klamm pipeline replay` and `reset` of some queries of a pipeline: the others stay where they are."""

from pathlib import Path
from uuid import uuid4

import pytest

from cli.commands import Klamm
from klamm.pipeline.identity.keeping import Kept, LocalFiles, write_kept
from klamm.pipeline.identity.rules import Identity
from klamm.pipeline.running import registry
from klamm.pipeline.spec import Edge
from pipeline.cli import files
from pipeline.reading.records import create, put

TWO = """\
name: {name}
source: {{topic: {name}, format: text}}
steps: [{{view: copied, sql: SELECT value FROM input}}]
sinks:
  - {{topic: raw, format: text, from: input}}
  - {{topic: copy, format: text}}
"""


@pytest.fixture
def name(bootstrap: str) -> str:
    """A pipeline whose topic holds four records."""
    name = f"pipe-{uuid4().hex[:8]}"
    create(bootstrap, name)
    put(bootstrap, name, b"a", b"b", b"c", b"d")
    return name


@pytest.fixture
def file(home: Path, name: str) -> str:
    return files.write(home, TWO.format(name=name))


def has_run(name: str, **offsets: int) -> Path:
    """Its queries, as Spark leaves them, each with the next offset that it would read."""
    folder = Path(registry.checkpoint_of(name))
    for query, offset in offsets.items():
        (folder / f"topic.{query}" / "offsets").mkdir(parents=True)
        planned = f'v1\n{{}}\n{{"{name}":{{"0":{offset}}}}}'
        (folder / f"topic.{query}" / "offsets" / "0").write_text(planned)
        write_kept(LocalFiles(folder), f"topic.{query}", Kept(Identity()))
    return folder


def files_of(folder: Path) -> list[str]:
    """What there is of queries."""
    return sorted(
        [each.name for each in folder.iterdir() if each.name.startswith("topic.")]
        + [f".klamm/{each.name}" for each in (folder / ".klamm").iterdir()]
    )


@pytest.mark.parametrize("choice", [("--sink", "topic.copy"), ("--view", "copied")])
def test_replay_sets_one_query_aside(
    ask: Klamm, name: str, file: str, choice: tuple[str, str]
) -> None:
    folder = has_run(name, raw=4, copy=3)

    answer = ask("replay", file, "--from", "earliest", *choice, "--execute")

    assert answer.code == 0
    assert [(row["processed"], row["start"], row["records"]) for row in answer.rows] == [(3, 0, 4)]
    assert files_of(folder) == [".klamm/topic.raw.json", "topic.raw"]
    (aside,) = [each for each in folder.parent.iterdir() if each != folder]
    assert files_of(aside) == [".klamm/topic.copy.json", "topic.copy"]
    assert registry.start_override(name) is Edge.EARLIEST
    assert registry.start_override_of(name) == {"topic.copy"}


def test_replay_of_all_queries_by_name_is_one_of_the_pipeline(
    ask: Klamm, name: str, file: str
) -> None:
    folder = has_run(name, raw=4, copy=3)

    ask("replay", file, "--from", "earliest", "--view", "copied", "--view", "input", "--execute")

    assert not folder.exists()
    assert registry.start_override_of(name) is None


def test_replay_of_one_query_waits_for_those_that_have_not_begun(
    ask: Klamm, name: str, file: str
) -> None:
    has_run(name, copy=3)

    answer = ask("replay", file, "--from", "earliest", "--sink", "topic.copy", "--execute")

    assert answer.code == 1
    assert "topic.raw has no progress yet, and would start there as well" in answer.err
    assert registry.start_override(name) is None


def test_reset_forgets_one_query(ask: Klamm, name: str, file: str) -> None:
    folder = has_run(name, raw=4, copy=3)

    shown = ask("reset", file, "--sink", "topic.copy")
    assert files_of(folder) == [
        ".klamm/topic.copy.json",
        ".klamm/topic.raw.json",
        "topic.copy",
        "topic.raw",
    ]
    answer = ask("reset", file, "--sink", "topic.copy", "--execute")

    row = {"what": "checkpoint", "name": str(folder / "topic.copy")}
    assert shown.rows == [{**row, "forgotten": False}]
    assert answer.rows == [{**row, "forgotten": True}]
    assert files_of(folder) == [".klamm/topic.raw.json", "topic.raw"]


def test_reset_of_the_only_query_forgets_the_pipeline(ask: Klamm, name: str, file: str) -> None:
    folder = has_run(name, copy=3)

    answer = ask("reset", file, "--sink", "topic.copy", "--execute")

    assert [row["what"] for row in answer.rows] == ["group", "checkpoint", "checkpoint"]
    assert list(folder.iterdir()) == [folder / ".lock"]


def test_sink_that_is_not_there_is_wrong_usage(ask: Klamm, file: str) -> None:
    answer = ask("reset", file, "--sink", "topic.copi")

    assert answer.code == 2
    assert "there is no sink topic.copi; did you mean topic.copy?" in answer.err
