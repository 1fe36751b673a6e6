"""ListOffsets: the special points of a log, and the offset for a time. Expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from server.asking import NO_TOPIC, Topic, a_produce, error, partition_of
from server.conftest import MakeTopic
from server.wire_client import WireClient

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

NOTHING = (ErrorCode.NONE, -1, -1, -1)
NOT_YET = (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)

Answer = tuple[ErrorCode, int, int, int]


@pytest.fixture
def filled(client: WireClient, make_topic: MakeTopic) -> Topic:
    """Two batches, whose records are not in the order of time."""
    topic = make_topic()
    for timestamps in ((100, 300, 200), (250, 50)):
        records = [Record(timestamp=each, value=b"v") for each in timestamps]
        assert partition_of(client.ask(a_produce(topic, build_batch(records)))).error_code == 0
    return topic


def a_question(
    topic: Topic, timestamp: int, *, partition: int = 0, epoch: int = -1, isolation: int = 0
) -> ListOffsetsRequest:
    asked = ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch
    )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[ListOffsetsTopic(name=topic.name, partitions=[asked])],
    )


def ask(
    client: WireClient, topic: Topic, timestamp: int, version: int | None = None, **question: Any
) -> Answer:
    """(error, timestamp, offset, leader epoch)"""
    found = partition_of(client.ask(a_question(topic, timestamp, **question), version))
    return error(found.error_code), found.timestamp, found.offset, found.leader_epoch


@pytest.mark.parametrize("version", range(1, 12))
def test_both_ends_are_known_in_each_version(
    client: WireClient, filled: Topic, version: int
) -> None:
    epoch = 0 if version >= 4 else -1

    assert ask(client, filled, LATEST, version) == (ErrorCode.NONE, -1, 5, epoch)
    assert ask(client, filled, EARLIEST, version) == (ErrorCode.NONE, -1, 0, epoch)


@pytest.mark.parametrize("version", range(1, 12))
def test_later_points_need_later_versions(client: WireClient, filled: Topic, version: int) -> None:
    found = {
        point: ask(client, filled, point, version)
        for point in (MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD, -7)
    }

    assert found == {
        MAX_TIMESTAMP: (ErrorCode.NONE, 300, 1, 0) if version >= 7 else NOT_YET,
        EARLIEST_LOCAL: (ErrorCode.NONE, -1, 0, 0) if version >= 8 else NOT_YET,
        LATEST_TIERED: NOTHING if version >= 9 else NOT_YET,
        EARLIEST_PENDING_UPLOAD: NOTHING if version >= 11 else NOT_YET,
        -7: NOT_YET,
    }


@pytest.mark.parametrize("point", [LATEST, EARLIEST, EARLIEST_LOCAL])
def test_an_empty_log_begins_and_ends_at_zero(client: WireClient, topic: Topic, point: int) -> None:
    assert ask(client, topic, point)[:3] == (ErrorCode.NONE, -1, 0)


@pytest.mark.parametrize("point", [MAX_TIMESTAMP, 0, 100])
def test_an_empty_log_has_no_record_for_any_time(
    client: WireClient, topic: Topic, point: int
) -> None:
    assert ask(client, topic, point) == NOTHING


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [(0, 0), (50, 0), (100, 0), (101, 1), (200, 1), (250, 1), (300, 1)],
)
def test_a_time_finds_the_first_record_that_is_not_older(
    client: WireClient, filled: Topic, timestamp: int, expected: int
) -> None:
    error, _, offset, epoch = ask(client, filled, timestamp)

    assert (error, offset, epoch) == (ErrorCode.NONE, expected, 0)


@pytest.mark.parametrize("timestamp", [301, 10**15])
def test_a_time_after_all_records_finds_none(
    client: WireClient, filled: Topic, timestamp: int
) -> None:
    assert ask(client, filled, timestamp) == NOTHING


def test_readers_of_committed_data_see_the_last_stable_offset_as_the_end(
    client: WireClient, filled: Topic
) -> None:
    assert ask(client, filled, LATEST, isolation=1) == (ErrorCode.NONE, -1, 5, 0)


def test_a_client_must_know_the_leader_of_now(client: WireClient, filled: Topic) -> None:
    assert ask(client, filled, LATEST, epoch=0)[0] == ErrorCode.NONE
    assert ask(client, filled, LATEST, epoch=3)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_what_is_not_here_is_unknown(client: WireClient, filled: Topic) -> None:
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1)

    assert ask(client, NO_TOPIC, LATEST) == unknown
    assert ask(client, filled, LATEST, partition=1) == unknown


def test_a_partition_asked_for_twice_is_refused(client: WireClient, filled: Topic) -> None:
    question = a_question(filled, LATEST)
    question.topics[0].partitions *= 2

    (answer,) = client.ask(question).topics

    assert {p.error_code for p in answer.partitions} == {ErrorCode.INVALID_REQUEST}
