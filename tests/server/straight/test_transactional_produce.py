"""Transactional batches on the straight path: all but the first of a transaction, and only while it is open."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from klamm.server.network.outgoing import Answer
from klamm.server.straight.produce import StraightProduce
from server.asking import Topic, a_batch, a_produce, a_produce_of, error
from server.conftest import MakeTopic
from server.transacting import Speaker, committed_values
from server.wire_client import WireClient

pytestmark = pytest.mark.usefixtures("node")

STRAIGHT = [9, 10, 11, 12, 13]


@pytest.fixture
def was_straight(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each produce, whether the straight path answered it."""
    seen: list[bool] = []
    answer = StraightProduce.answer

    def watched(*arguments: Any) -> Answer | None:
        found = answer(*arguments)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(StraightProduce, "answer", watched)
    return seen


@pytest.mark.parametrize("version", STRAIGHT)
def test_the_first_batch_is_asked_about_and_the_others_are_not(
    client: WireClient, speaker: Speaker, topic: Topic, was_straight: list[bool], version: int
) -> None:
    speaker.add(topic, 0)
    for sequence in range(3):
        speaker.write(topic, b"%d" % sequence, sequence=sequence, version=version)

    assert was_straight == [False, True, True]
    speaker.end(commit=True)
    assert committed_values(client, topic) == [b"0", b"1", b"2"]


def test_the_straight_path_answers_what_the_handler_would(
    client: WireClient, speaker: Speaker, make_topic: MakeTopic, was_straight: list[bool]
) -> None:
    straight, handled = make_topic(), make_topic(flush_messages=1)
    answers = []
    for topic in (straight, handled):
        speaker.write(topic, b"a")
        answers.append(speaker.produce(topic, b"b", sequence=1))

    assert was_straight == [False, True, False, False]
    assert answers[0] == answers[1]


def test_after_the_end_and_for_others_the_coordinator_is_asked(
    speaker: Speaker, topic: Topic, was_straight: list[bool]
) -> None:
    first = speaker.producer
    speaker.write(topic, b"a")
    zombie = speaker.produce(topic, sequence=1, producer=Producer(first.id, first.epoch + 1))
    nameless = speaker.produce(topic, sequence=1, name=None)
    speaker.end(commit=True)
    late = speaker.produce(topic, sequence=1, producer=first)
    speaker.write(topic, b"b")

    assert not any(was_straight)
    old_epoch = ErrorCode.INVALID_PRODUCER_EPOCH
    assert [error(each.error_code) for each in (zombie, nameless, late)] == [
        old_epoch,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        old_epoch,
    ]


@pytest.mark.parametrize("version", STRAIGHT)
def test_several_partitions_are_asked_about_until_the_transaction_is_open_on_each(
    client: WireClient,
    speaker: Speaker,
    make_topic: MakeTopic,
    was_straight: list[bool],
    version: int,
) -> None:
    topic = make_topic(2)
    speaker.add(topic, 0, 1)
    speaker.write(topic, b"alone", version=version)

    for first, second in ((1, 0), (2, 1)):
        batches = [
            (partition, speaker.batch(b"%d" % partition, sequence=sequence))
            for partition, sequence in ((0, first), (1, second))
        ]
        request = a_produce_of((topic, batches), transactional_id=speaker.name)
        answer = client.ask(request, version).responses[0]
        assert [each.error_code for each in answer.partition_responses] == [0, 0]

    assert was_straight == [False, False, True]
    speaker.end(commit=True)
    assert committed_values(client, topic) == [b"alone", b"0", b"0"]


def test_an_id_too_long_for_one_byte_takes_the_long_way(
    client: WireClient, topic: Topic, was_straight: list[bool]
) -> None:
    speaker = Speaker(client, "long-" * 30)
    speaker.init()
    speaker.write(topic, b"a")
    speaker.write(topic, b"b", sequence=1)
    speaker.end(commit=True)

    assert was_straight == [False, False]
    assert committed_values(client, topic) == [b"a", b"b"]


def test_a_name_in_the_request_makes_no_transaction(
    client: WireClient, topic: Topic, was_straight: list[bool]
) -> None:
    answer = client.ask(a_produce(topic, a_batch(b"x"), transactional_id="tx"))

    assert answer.responses[0].partition_responses[0].error_code == 0
    assert was_straight == [True]
    assert committed_values(client, topic) == [b"x"]
