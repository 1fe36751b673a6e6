"""The straight path for fetches answers exactly what the handler would, byte for byte."""

from collections.abc import Iterator
from typing import Any

import pytest

from klamm.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from klamm.protocol.records.batch import Codec
from klamm.server.network.outgoing import Answer
from klamm.server.straight.fetch import StraightFetch
from server.asking import (
    NO_TOPIC,
    Topic,
    a_batch,
    a_fetch,
    a_fetch_of,
    append,
    fetched,
    partition_of,
    values_in,
)
from server.conftest import MakeTopic, create_topic, delete_topic
from server.wire_client import WireClient, request_frame

pytestmark = pytest.mark.usefixtures("node")

VERSIONS = range(4, 19)
STRAIGHT = range(12, 19)
BATCH = len(a_batch(b"v" * 100))


@pytest.fixture
def filled(client: WireClient, make_topic: MakeTopic) -> Topic:
    topic = make_topic(2)
    for _ in range(3):
        append(client, topic, b"v" * 100)
    append(client, topic, b"large" * 300_000, codec=Codec.LZ4)
    append(client, topic, b"larger" * 100_000)
    append(client, topic, b"larger" * 100_000)
    return topic


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[Answer | None]:
    """What the straight path answered; None where it left a request to the handler."""
    seen: list[Answer | None] = []
    answer = StraightFetch.answer

    def watched(*arguments: Any) -> Answer | None:
        seen.append(answer(*arguments))
        return seen[-1]

    monkeypatch.setattr(StraightFetch, "answer", watched)
    return seen


def requests(topic: Topic) -> Iterator[FetchRequest]:
    for offset in range(-1, 8):
        yield a_fetch(topic, offset)
    for limit in (0, 1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, 50_000, 1_000_000, 1 << 30):
        yield a_fetch(topic, partition_max_bytes=limit)
        yield a_fetch(topic, max_bytes=limit)
        yield a_fetch(topic, min_bytes=limit)
    yield a_fetch(topic, min_bytes=0)
    yield a_fetch(topic, min_bytes=-1)
    yield a_fetch(topic, partition=1)
    yield a_fetch(topic, partition=2)
    yield a_fetch(topic, partition=-1)
    yield a_fetch(NO_TOPIC)
    yield a_fetch(topic, isolation_level=1)
    for epoch in (-1, 0, 1):
        yield a_fetch(topic, leader_epoch=epoch)
        yield a_fetch(topic, 1, last_fetched_epoch=epoch)
    yield a_fetch(topic, rack_id="rack")
    yield a_fetch(topic, session_id=5)
    yield FetchRequest(session_epoch=-1)
    yield FetchRequest(session_epoch=-1, topics=[FetchTopic(topic=topic.name, topic_id=topic.id)])
    both = [FetchPartition(partition=index, partition_max_bytes=1000) for index in (0, 1)]
    yield a_fetch_of([(topic, both)])
    yield a_fetch_of([(topic, both[:1]), (NO_TOPIC, both[:1])])


def answers(client: WireClient, topic: Topic, version: int) -> list[bytes]:
    raw = []
    for request in requests(topic):
        client.send_frame(request_frame(request, version))
        raw.append(client.receive_frame())
    return raw


@pytest.mark.parametrize("version", VERSIONS)
def test_both_paths_give_the_same_answer(
    client: WireClient, filled: Topic, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_either = answers(client, filled, version)

    monkeypatch.setattr(StraightFetch, "answer", lambda *_: None)
    by_handler = answers(client, filled, version)

    assert by_either == by_handler


@pytest.mark.parametrize("version", VERSIONS)
def test_the_usual_request_takes_the_straight_path(
    client: WireClient, filled: Topic, answered: list[Answer | None], version: int
) -> None:
    client.ask(a_fetch(filled, partition_max_bytes=1000), version)

    assert [answer is not None for answer in answered] == [version in STRAIGHT]


@pytest.mark.parametrize("version", [12, 18])
def test_what_is_appended_later_is_read_by_the_same_route(
    client: WireClient, topic: Topic, version: int
) -> None:
    for number in range(3):
        append(client, topic, b"%d" % number)
        answer = partition_of(client.ask(a_fetch(topic), version))
        assert answer.high_watermark == number + 1
        assert values_in(answer.records) == [b"%d" % each for each in range(number + 1)]


def test_a_topic_made_again_under_its_name_is_read_and_the_old_one_is_not(
    client: WireClient, make_topic: MakeTopic
) -> None:
    old = make_topic()
    append(client, old, b"old")
    assert values_in(partition_of(client.ask(a_fetch(old), 12)).records) == [b"old"]
    delete_topic(client, old)
    new = create_topic(client, old.name)
    append(client, new, b"new")

    by_name = partition_of(client.ask(a_fetch(old), 12))
    by_old_id = partition_of(client.ask(a_fetch(old), 13))

    assert values_in(by_name.records) == fetched(client, new) == [b"new"]
    assert by_old_id.error_code == 100
