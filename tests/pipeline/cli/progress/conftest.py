"""A pipeline on a real cluster that is some way through its topic."""

from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from cli.commands import Klamm
from klamm.pipeline.running import registry
from pipeline.cli import files
from pipeline.reading.records import create, put


@pytest.fixture
def ask(pipeline: Klamm, bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> Klamm:
    monkeypatch.setenv("KLAMM_BOOTSTRAP", bootstrap)
    return pipeline


@pytest.fixture
def name(bootstrap: str) -> str:
    """A pipeline whose topic holds four records in one partition, three of which it has processed."""
    name = f"pipe-{uuid4().hex[:8]}"
    create(bootstrap, name)
    put(bootstrap, name, b"a", b"b", b"c", b"d")
    group = Consumer({"bootstrap.servers": bootstrap, "group.id": f"pipeline.{name}"})
    group.commit(offsets=[TopicPartition(name, 0, 3)], asynchronous=False)
    group.close()
    return name


@pytest.fixture
def file(home: Path, name: str) -> str:
    return files.write(home, files.COPY.format(name=name, topic=name))


@pytest.fixture
def checkpoint(name: str) -> Path:
    """As Spark leaves it, with something of the user's beside."""
    folder = Path(registry.checkpoint_of(name))
    (folder / "topic.out" / "offsets").mkdir(parents=True)
    (folder / "landed.orders").mkdir()
    (folder / "notes").mkdir()
    return folder
