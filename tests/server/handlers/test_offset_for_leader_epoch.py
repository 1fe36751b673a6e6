"""OffsetForLeaderEpoch: where an epoch ends here. Expectations hold for Apache Kafka 4.3.1 as well."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from server.asking import NO_TOPIC, Topic, append, error
from server.wire_client import WireClient

UNKNOWN = (-1, -1)


def end_of_epoch(
    client: WireClient,
    topic: Topic,
    epoch: int,
    *,
    known_leader: int = -1,
    partition: int = 0,
    version: int | None = None,
) -> tuple[ErrorCode, int, int]:
    """(error, epoch, end offset)"""
    asked = OffsetForLeaderPartition(
        partition=partition, current_leader_epoch=known_leader, leader_epoch=epoch
    )
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(topic=topic.name, partitions=[asked])]
    )
    (answer,) = client.ask(request, version).topics
    (found,) = answer.partitions
    assert found.partition == partition
    return error(found.error_code), found.leader_epoch, found.end_offset


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_epoch_of_now_ends_where_the_log_does(
    client: WireClient, topic: Topic, version: int
) -> None:
    append(client, topic, b"one", b"two")

    assert end_of_epoch(client, topic, 0, version=version) == (ErrorCode.NONE, 0, 2)


@pytest.mark.parametrize("epoch", [-1, 1, 5])
def test_an_epoch_that_never_was_has_no_end(client: WireClient, topic: Topic, epoch: int) -> None:
    append(client, topic, b"one")

    assert end_of_epoch(client, topic, epoch) == (ErrorCode.NONE, *UNKNOWN)


def test_a_client_must_know_the_leader_of_now(client: WireClient, topic: Topic) -> None:
    assert end_of_epoch(client, topic, 0, known_leader=0)[0] == ErrorCode.NONE
    assert end_of_epoch(client, topic, 0, known_leader=4) == (
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        *UNKNOWN,
    )


def test_what_is_not_here_is_unknown(client: WireClient, topic: Topic) -> None:
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, *UNKNOWN)

    assert end_of_epoch(client, NO_TOPIC, 0) == unknown
    assert end_of_epoch(client, topic, 0, partition=1) == unknown
