"""klamm and Apache Kafka serve one data directory in turns: each shows exactly what the other showed last."""

import pytest

from klamm.base.ids import TopicPartition
from twoway.home import Stage
from twoway.kafka_first import KafkaFirst
from twoway.klamm_first import KlammFirst
from twoway.picture import FACETS

pytestmark = pytest.mark.oracle

Story = KlammFirst | KafkaFirst

# The story, which of its stages ended, and how.
CHANGES = {
    "klamm to kafka": ("klamm_first", 0),
    "and back to klamm": ("klamm_first", 1),
    "killed klamm to kafka": ("klamm_first", 2),
    "recovered by kafka to klamm": ("klamm_first", 3),
    "killed kafka to klamm": ("kafka_first", 0),
    "recovered by klamm to kafka": ("kafka_first", 1),
    "kafka to klamm": ("kafka_first", 2),
}


@pytest.fixture(params=["klamm_first", "kafka_first"])
def story(request: pytest.FixtureRequest) -> Story:
    found: Story = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=CHANGES.values(), ids=list(CHANGES))
def change(request: pytest.FixtureRequest) -> tuple[Stage, Stage]:
    name, number = request.param
    before, after = request.getfixturevalue(name).home.stages[number : number + 2]
    return before, after


@pytest.mark.parametrize("facet", FACETS)
def test_next_broker_shows_what_the_last_one_showed(
    change: tuple[Stage, Stage], facet: str
) -> None:
    before, after = change

    assert getattr(after.opening, facet) == getattr(before.closing, facet)


def test_every_stage_had_something_to_show_of_everything(story: Story) -> None:
    transactions = {"aborted"} if isinstance(story, KlammFirst) else set()

    for stage in story.home.stages:
        empty = {facet for facet in FACETS if not getattr(stage.closing, facet)}
        assert empty == transactions


def test_every_acknowledged_record_is_there_in_the_end(story: Story) -> None:
    last = story.home.stages[-1].closing
    for partition, sent in story.life.writer.sent.items():
        if partition.topic == "compacted":
            continue
        start = last.offsets[partition][-2][1]
        found = {
            offset: content
            for offset, _, *content in last.uncommitted.get(partition, ())
            if offset in sent
        }

        wanted = {offset: list(content) for offset, content in sent.items() if offset >= start}
        assert found == wanted


def test_newest_record_of_every_key_outlives_compaction(story: Story) -> None:
    partition = TopicPartition("compacted", 0)
    last = story.home.stages[-1].closing
    sent = story.life.writer.sent[partition]

    newest = {key: offset for offset, (key, *_) in sorted(sent.items())}
    found = {offset: (key, value) for offset, _, key, value, _ in last.uncommitted[partition]}
    assert len(found) < len(sent) / 2
    assert {key: found[offset] for key, offset in newest.items()} == {
        key: (key, sent[offset][1]) for key, offset in newest.items()
    }


def test_next_broker_knows_the_last_batch_of_a_producer(story: Story) -> None:
    answers = [answer for answer, _ in story.life.retries]

    assert answers == [original for _, original in story.life.retries]
    assert len(answers) == len(story.home.stages) - 1


def test_no_producer_id_is_given_twice(story: Story) -> None:
    used = {
        producer.producer_id
        for stage in story.home.stages
        for producers in stage.closing.producers.values()
        for producer in producers
    }
    given = story.life.producer_ids

    assert given == sorted(set(given))
    assert not used & set(given)


def test_neither_broker_finds_anything_to_complain_about(story: Story) -> None:
    assert {stage.broker: stage.complaints for stage in story.home.stages} == {
        "klamm": [],
        "kafka": [],
    }


def test_no_directory_was_set_aside_as_a_stray(story: Story) -> None:
    found = [path for each in story.home.directories for path in each.iterdir()]

    assert [path for path in found if path.name.endswith("-stray")] == []


def test_kafka_scans_no_log_after_klamm_stopped_and_all_after_it_was_killed(
    klamm_first: KlammFirst,
) -> None:
    _, after_stop, _, after_kill, _ = klamm_first.home.stages

    assert "since clean shutdown file was found" in after_stop.output
    assert "since no clean shutdown file was found" in after_kill.output
