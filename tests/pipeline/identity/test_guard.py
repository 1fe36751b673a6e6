"""A query and its topics on a real cluster, without Spark: its checkpoint is written by hand."""

import threading
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient

from klamm.pipeline.identity.asking import topics_of
from klamm.pipeline.identity.guard import Guard, QueryGuard
from klamm.pipeline.identity.keeping import LocalFiles, read_kept
from klamm.pipeline.identity.rules import TopicsChanged
from klamm.pipeline.place import Place
from klamm.pipeline.sources.trouble import SourceUnreachable
from klamm.pipeline.spec import from_dict
from pipeline.identity.topics import make_again
from pipeline.running.pipelines import SECONDS, create
from support.brokers import start_klamm


@pytest.fixture
def topic(bootstrap: str) -> str:
    name = f"guarded-{uuid4().hex[:8]}"
    create(bootstrap, name, partitions=2)
    return name


def guard(bootstrap: str, folder: Path, **source: str) -> QueryGuard:
    facts = {"name": "p", "source": {"format": "text", **source}, "sink": {"console": True}}
    place = Place(bootstrap=bootstrap, checkpoint=str(folder), warehouse=str(folder))
    topics = topics_of(from_dict(facts), place)  # type: ignore[arg-type]
    whole = Guard(pipeline="p", file="p.yaml", topics=topics, files=LocalFiles(folder))
    return whole.of("console")


def plan(folder: Path, batch: int, *topics: str, is_first: bool = False) -> None:
    """As Spark does before it gives a batch away; by then those before it are committed."""
    for part in ("offsets", "commits"):
        (folder / "console" / part).mkdir(parents=True, exist_ok=True)
    sources = ",".join(f'"{topic}":{{"0":5,"1":5}}' for topic in topics)
    (folder / "console" / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{{{sources}}}")
    if not is_first:
        (folder / "console" / "commits" / "0").write_text("v1\n{}")


def test_topics_are_kept_at_the_first_start_and_healthy_batches_pass(
    bootstrap: str, topic: str, tmp_path: Path
) -> None:
    of_query = guard(bootstrap, tmp_path, topic=topic)

    of_query.check_start()
    for batch in range(3):
        plan(tmp_path, batch, topic)
        of_query.check_batch(batch)
    guard(bootstrap, tmp_path, topic=topic).check_start()

    kept = read_kept(LocalFiles(tmp_path), "console")
    assert kept is not None
    assert kept.identity.topics[topic].partitions == 2
    assert kept.identity.topics[topic].id is not None
    assert kept.identity.cluster is not None


def test_checkpoint_of_an_older_version_is_taken_as_it_is_at_the_first_run(
    bootstrap: str, topic: str, tmp_path: Path
) -> None:
    plan(tmp_path, 7, topic)

    guard(bootstrap, tmp_path, topic=topic).check_start()
    make_again(bootstrap, topic)

    with pytest.raises(TopicsChanged):
        guard(bootstrap, tmp_path, topic=topic).check_start()


def test_topic_that_is_made_again_is_seen_before_the_next_batch(
    bootstrap: str, topic: str, tmp_path: Path
) -> None:
    of_query = guard(bootstrap, tmp_path, topic=topic)
    of_query.check_start()
    plan(tmp_path, 0, topic)
    of_query.check_batch(0)
    make_again(bootstrap, topic)
    plan(tmp_path, 1, topic)

    with pytest.raises(TopicsChanged, match=f"topic {topic} was deleted and made again"):
        of_query.check_batch(1)
    with pytest.raises(TopicsChanged):
        of_query.check_batch(1)  # It stays so however often it is tried.


def test_topic_that_had_no_position_may_be_made_again(
    bootstrap: str, topic: str, tmp_path: Path
) -> None:
    of_query = guard(bootstrap, tmp_path, pattern=f"{topic}.*")
    create(bootstrap, f"{topic}-new")
    of_query.check_start()
    plan(tmp_path, 0, topic)
    of_query.check_batch(0)
    make_again(bootstrap, f"{topic}-new")
    plan(tmp_path, 1, topic, f"{topic}-new")

    of_query.check_batch(1)

    make_again(bootstrap, f"{topic}-new")
    plan(tmp_path, 2, topic, f"{topic}-new")
    with pytest.raises(TopicsChanged, match=f"{topic}-new"):
        of_query.check_batch(2)


def test_topic_that_is_gone_is_left_to_spark_and_not_created_by_asking(
    bootstrap: str, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("klamm.pipeline.identity.guard.SETTLING_SECONDS", 0.0)
    of_query = guard(bootstrap, tmp_path, topic=topic)
    of_query.check_start()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(SECONDS)
    plan(tmp_path, 0, topic)

    of_query.check_batch(0)

    assert topic not in admin.list_topics(timeout=SECONDS).topics


def test_topic_that_is_not_known_everywhere_yet_is_waited_for(
    bootstrap: str, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("klamm.pipeline.identity.guard.SETTLING_SECONDS", 60.0)
    of_query = guard(bootstrap, tmp_path, topic=topic)
    of_query.check_start()
    plan(tmp_path, 0, topic)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(SECONDS)
    asked = threading.Event()

    def make_it_when_asked(wait: float) -> None:
        if not asked.is_set():
            asked.set()
            create(bootstrap, topic)

    monkeypatch.setattr("klamm.pipeline.identity.guard.time.sleep", make_it_when_asked)

    with pytest.raises(TopicsChanged):
        of_query.check_batch(0)
    assert asked.is_set()


def test_query_that_never_finished_a_batch_is_begun_anew_in_a_topic_that_was_made_again(
    bootstrap: str, topic: str, tmp_path: Path
) -> None:
    guard(bootstrap, tmp_path, topic=topic).check_start()
    plan(tmp_path, 0, topic, is_first=True)
    make_again(bootstrap, topic)

    guard(bootstrap, tmp_path, topic=topic).check_start()

    assert not (tmp_path / "console").exists()
    kept = read_kept(LocalFiles(tmp_path), "console")
    assert kept is not None
    assert topic in kept.identity.topics


def test_start_in_a_topic_that_was_made_again_is_forgotten(
    bootstrap: str, topic: str, tmp_path: Path
) -> None:
    guard(bootstrap, tmp_path, topic=topic).check_start()
    # Spark has looked where it starts (with `start: latest` that is some offset), and there was nothing to read.
    start = tmp_path / "console" / "sources" / "0" / "0"
    start.parent.mkdir(parents=True)
    start.touch()
    guard(bootstrap, tmp_path, topic=topic).check_start()
    assert start.exists()
    make_again(bootstrap, topic)

    guard(bootstrap, tmp_path, topic=topic).check_start()

    assert not start.exists()


def test_another_cluster_at_the_address_is_seen(bootstrap: str, topic: str, tmp_path: Path) -> None:
    guard(bootstrap, tmp_path, topic=topic).check_start()
    plan(tmp_path, 0, topic)
    other = start_klamm()
    try:
        create(other.address, topic)

        with pytest.raises(TopicsChanged, match="the cluster is another one"):
            guard(other.address, tmp_path, topic=topic).check_start()
    finally:
        other.stop()


def test_cluster_that_is_away_for_a_while_is_trouble_that_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = start_klamm()
    create(broker.address, "stays")
    of_query = guard(broker.address, tmp_path, topic="stays")
    of_query.check_start()
    plan(tmp_path, 0, "stays")
    broker.stop(keep=True)

    with monkeypatch.context() as hurried:
        hurried.setattr("klamm.pipeline.identity.asking.TIMEOUT_SECONDS", 0.5)
        with pytest.raises(SourceUnreachable, match="does not answer"):
            of_query.check_batch(0)
    broker = start_klamm(home=broker.home, port=int(broker.address.rpartition(":")[2]))
    try:
        # The query is started again, and the batch comes again.
        of_query.check_start()
        of_query.check_batch(0)
    finally:
        broker.stop()
