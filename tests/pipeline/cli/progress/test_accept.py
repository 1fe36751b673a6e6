"""`klamm pipeline accept`: going on in topics that were made again, on purpose, on a real cluster."""

from pathlib import Path
from uuid import uuid4

import pytest

from cli.commands import Klamm
from klamm.pipeline.identity.keeping import Kept, LocalFiles, read_kept, write_kept
from klamm.pipeline.identity.rules import Identity, Topic
from klamm.pipeline.running import registry
from pipeline.reading.records import create, put


@pytest.fixture
def name(bootstrap: str) -> str:
    """A pipeline whose topic holds four records."""
    name = f"pipe-{uuid4().hex[:8]}"
    create(bootstrap, name)
    put(bootstrap, name, b"a", b"b", b"c", b"d")
    return name


def has_read(name: str, offset: int, identity: Identity) -> Path:
    """A checkpoint whose query stands at that offset of the topic."""
    folder = Path(registry.checkpoint_of(name))
    (folder / "q" / "offsets").mkdir(parents=True)
    (folder / "q" / "offsets" / "0").write_text(f'v1\n{{}}\n{{"{name}":{{"0":{offset}}}}}')
    write_kept(LocalFiles(folder), "q", Kept(identity))
    return folder


def another(name: str) -> Identity:
    return Identity("another cluster", {name: Topic("an id of before", 1)})


def test_accept_shows_what_would_be_left_out_and_changes_nothing(
    ask: Klamm, name: str, file: str
) -> None:
    folder = has_read(name, 3, another(name))

    answer = ask("accept", file)

    assert answer.code == 0
    assert answer.rows == [
        {
            "query": "q",
            "topic": name,
            "partition": 0,
            "next_offset": 3,
            "start_offset": 0,
            "end_offset": 4,
            "left_out": 3,
            "accepted": False,
        }
    ]
    assert "nothing was changed" in answer.err
    assert read_kept(LocalFiles(folder), "q") == Kept(another(name))


def test_accept_keeps_the_topic_that_is_there(ask: Klamm, name: str, file: str) -> None:
    has_read(name, 3, another(name))

    answer = ask("accept", file, "--execute")

    assert answer.code == 0
    assert f"the next run of {name} goes on at next_offset" in answer.err
    again = ask("accept", file)
    assert (again.code, again.rows) == (0, [])
    assert "there is nothing to accept" in again.err


def test_accept_says_that_a_position_behind_the_end_helps_nobody(
    ask: Klamm, name: str, file: str
) -> None:
    has_read(name, 50, another(name))

    answer = ask("accept", file)

    assert answer.rows[0]["left_out"] == 4
    assert "a position lies behind the end of its partition" in answer.err


def test_accept_of_a_pipeline_that_never_ran_has_nothing_to_do(ask: Klamm, file: str) -> None:
    answer = ask("accept", file, "--execute")

    assert answer.code == 0
    assert "there is nothing to accept" in answer.err


def test_accept_tells_what_to_do_about_a_checkpoint_elsewhere(ask: Klamm, file: str) -> None:
    answer = ask("accept", file, "--checkpoint", "s3a://bucket/stats", "--execute")

    assert answer.code == 1
    assert "remove the folder .klamm in it" in answer.err
