"""Whatever the bytes of a request say, the straight paths leave it to the handlers and never fail."""

import random
from typing import cast

import pytest

from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from klamm.server.network.connection import Connection
from klamm.server.straight.commit import StraightCommit
from klamm.server.straight.heartbeat import StraightHeartbeat
from klamm.server.straight.produce import StraightProduce
from server.asking import Topic, a_batch, a_produce_of, fetched
from server.conftest import MakeTopic
from server.running_node import RunningNode
from server.wire_client import WireClient, request_frame

_CLIENT = "wire"
_HEADER_SIZE = 10
# Nothing has to wait on a single node, and nobody is asked for rights.
NOBODY = cast(Connection, None)
_TRIES = 5_000
# Lengths, counts and tags as they may stand in any place.
_BYTES = (0, 1, 2, 3, 5, 16, 126, 127, 128, 255)


def damaged(frame: bytes, chance: random.Random) -> memoryview:
    data = bytearray(frame)
    if chance.random() < 0.3:
        del data[chance.randrange(_HEADER_SIZE, len(data)) :]
    elif chance.random() < 0.2:
        data += bytes(chance.randrange(1, 4))
    for _ in range(chance.randrange(3)):
        if len(data) > _HEADER_SIZE:
            data[chance.randrange(_HEADER_SIZE, len(data))] = chance.choice(_BYTES)
    return memoryview(data)


@pytest.mark.parametrize("version", [8, 9, 10])
def test_damaged_commit_is_left_to_the_handler(
    node: RunningNode, topic: Topic, version: int
) -> None:
    partition = OffsetCommitRequestPartition(committed_offset=5, committed_metadata="so far")
    asked = OffsetCommitRequestTopic(name=topic.name, topic_id=topic.id, partitions=[partition])
    request = OffsetCommitRequest(
        group_id="nobody's", member_id="nobody", generation_id_or_member_epoch=1, topics=[asked]
    )
    frame = request_frame(request, version, client_id=_CLIENT)
    chance = random.Random(version)

    def answers() -> set[object]:
        path = StraightCommit(node.node.broker)
        return {
            path.answer(NOBODY, damaged(frame, chance), version, 7, len(_CLIENT))
            for _ in range(_TRIES)
        }

    assert node.call(answers) == {None}


@pytest.mark.parametrize("version", [9, 12, 13])
def test_damaged_produce_to_several_partitions_is_left_to_the_handler_or_refused(
    node: RunningNode, client: WireClient, make_topic: MakeTopic, version: int
) -> None:
    """Whatever still is a request is answered as the handler would: each batch has a checksum."""
    topic = make_topic(2)
    request = a_produce_of((topic, [(0, a_batch()), (1, a_batch())]))
    frame = request_frame(request, version, client_id=_CLIENT)
    chance = random.Random(version)

    def answers() -> list[object]:
        path = StraightProduce(node.node.broker)
        return [
            path.answer(NOBODY, damaged(frame, chance), version, 7, len(_CLIENT))
            for _ in range(_TRIES)
        ]

    straight = [answer for answer in node.call(answers) if answer is not None]

    assert 0 < len(straight) < _TRIES
    values = [fetched(client, topic, partition=index, max_bytes=1 << 30) for index in (0, 1)]
    assert {value for each in values for value in each} == {b"value"}


@pytest.mark.parametrize("version", [3, 4])
def test_damaged_heartbeat_is_left_to_the_handler(node: RunningNode, version: int) -> None:
    request = HeartbeatRequest(group_id="nobody's", generation_id=1, member_id="nobody")
    frame = request_frame(request, version, client_id=_CLIENT)
    chance = random.Random(version)

    def answers() -> set[object]:
        path = StraightHeartbeat(node.node.broker)
        return {
            path.answer(NOBODY, damaged(frame, chance), version, 7, len(_CLIENT))
            for _ in range(_TRIES)
        }

    assert node.call(answers) == {None}
