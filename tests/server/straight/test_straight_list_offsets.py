"""The straight path for the start and the end of a partition answers exactly what the handler would, byte for byte."""

import random
from collections.abc import Iterator
from typing import Any, cast

import pytest

from klamm.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from klamm.server.network.connection import Connection
from klamm.server.network.outgoing import Answer
from klamm.server.straight.list_offsets import StraightListOffsets
from server.asking import EARLIEST, LATEST, NO_TOPIC, Topic, append, offset_at
from server.conftest import MakeTopic, create_topic, delete_topic
from server.wire_client import WireClient, request_frame

pytestmark = pytest.mark.usefixtures("node")

VERSIONS = range(1, 12)
STRAIGHT = range(6, 12)


@pytest.fixture
def filled(client: WireClient, make_topic: MakeTopic) -> Topic:
    topic = make_topic(2)
    for _ in range(3):
        append(client, topic, b"value")
    return topic


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[Answer | None]:
    """What the straight path answered; None where it left a request to the handler."""
    seen: list[Answer | None] = []
    answer = StraightListOffsets.answer

    def watched(*arguments: Any) -> Answer | None:
        seen.append(answer(*arguments))
        return seen[-1]

    monkeypatch.setattr(StraightListOffsets, "answer", watched)
    return seen


def a_question(
    topic: Topic,
    timestamp: int = LATEST,
    *,
    partition: int = 0,
    leader_epoch: int = -1,
    replica_id: int = -1,
    isolation_level: int = 0,
) -> ListOffsetsRequest:
    asked = ListOffsetsPartition(
        partition_index=partition, current_leader_epoch=leader_epoch, timestamp=timestamp
    )
    return ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=topic.name, partitions=[asked])],
    )


def questions(topic: Topic) -> Iterator[ListOffsetsRequest]:
    for timestamp in (LATEST, EARLIEST, -3, -4, -5, -6, -7, 0, 1 << 60):
        yield a_question(topic, timestamp)
    for isolation_level in (0, 1, 2, -1):
        yield a_question(topic, isolation_level=isolation_level)
    for partition in (1, 2, -1):
        yield a_question(topic, partition=partition)
        yield a_question(topic, EARLIEST, partition=partition)
    for epoch in (0, 1):
        yield a_question(topic, leader_epoch=epoch)
    yield a_question(topic, replica_id=1)
    yield a_question(NO_TOPIC)
    yield ListOffsetsRequest(replica_id=-1)
    yield ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic.name)])
    twice = ListOffsetsPartition(timestamp=LATEST)
    yield ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic.name, partitions=[twice, twice])]
    )


def answers(client: WireClient, topic: Topic, version: int) -> list[bytes]:
    raw = []
    for question in questions(topic):
        client.send_frame(request_frame(question, version))
        raw.append(client.receive_frame())
    return raw


@pytest.mark.parametrize("version", VERSIONS)
def test_both_paths_give_the_same_answer(
    client: WireClient, filled: Topic, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_either = answers(client, filled, version)

    monkeypatch.setattr(StraightListOffsets, "answer", lambda *_: None)

    assert by_either == answers(client, filled, version)


@pytest.mark.parametrize("timestamp", [LATEST, EARLIEST])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_usual_question_takes_the_straight_path(
    client: WireClient,
    filled: Topic,
    answered: list[Answer | None],
    version: int,
    timestamp: int,
) -> None:
    client.ask(a_question(filled, timestamp), version)

    assert [answer is not None for answer in answered] == [version in STRAIGHT]


def test_the_end_moves_with_the_log(client: WireClient, topic: Topic) -> None:
    for number in range(3):
        assert offset_at(client, topic, LATEST) == number
        append(client, topic, b"value")


def test_a_topic_made_again_under_its_name_begins_anew(
    client: WireClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    append(client, topic, b"old")
    assert offset_at(client, topic, LATEST) == 1

    delete_topic(client, topic)
    create_topic(client, topic.name)

    assert offset_at(client, topic, LATEST) == 0


@pytest.mark.parametrize("version", STRAIGHT)
def test_damaged_question_never_fails(client: WireClient, filled: Topic, version: int) -> None:
    path = StraightListOffsets(_Nowhere())  # type: ignore[arg-type]
    frame = request_frame(a_question(filled), version, client_id="wire")
    chance = random.Random(version)
    for _ in range(5_000):
        data = bytearray(frame)
        if chance.random() < 0.3:
            del data[chance.randrange(10, len(data)) :]
        for _ in range(chance.randrange(3)):
            if len(data) > 10:
                data[chance.randrange(10, len(data))] = chance.choice((0, 1, 2, 127, 128, 255))
        assert path.answer(NOBODY, memoryview(data), version, 7, len("wire")) is None


# Whose rights nobody asks for.
NOBODY = cast(Connection, None)


class _Nowhere:
    """A broker without a partition."""

    authorization = None

    def __init__(self) -> None:
        self.replicas = self

    def on_partitions_changed(self, call: object) -> None: ...

    def find(self, topic: str, partition: int) -> None: ...
