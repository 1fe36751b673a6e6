"""DeleteRecords: the log's start moves forward, and only forward. Expectations hold for Apache Kafka 4.3.1 as well."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from server.asking import EARLIEST, LATEST, NO_TOPIC, Topic, append, error, fetched, offset_at
from server.conftest import MakeTopic
from server.wire_client import WireClient

UP_TO_THE_HIGH_WATERMARK = -1
NO_WATERMARK = -1


def delete(
    client: WireClient,
    topic: Topic,
    offset: int,
    *,
    partition: int = 0,
    version: int | None = None,
) -> tuple[ErrorCode, int]:
    """(error, low watermark)"""
    below = DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic.name, partitions=[below])], timeout_ms=5_000
    )
    (answer,) = client.ask(request, version).topics
    (result,) = answer.partitions
    return error(result.error_code), result.low_watermark


@pytest.fixture
def topic(client: WireClient, make_topic: MakeTopic) -> Topic:
    """Three records in two batches."""
    topic = make_topic()
    append(client, topic, b"0", b"1")
    append(client, topic, b"2")
    return topic


@pytest.mark.parametrize("version", range(3))
def test_the_log_begins_at_the_offset(client: WireClient, topic: Topic, version: int) -> None:
    assert delete(client, topic, 2, version=version) == (ErrorCode.NONE, 2)

    assert offset_at(client, topic, EARLIEST) == 2
    assert fetched(client, topic, 2) == [b"2"]


def test_an_offset_within_a_batch_is_a_beginning_too(client: WireClient, topic: Topic) -> None:
    assert delete(client, topic, 1) == (ErrorCode.NONE, 1)

    assert offset_at(client, topic, EARLIEST) == 1


def test_minus_one_deletes_all_there_is(client: WireClient, topic: Topic) -> None:
    assert delete(client, topic, UP_TO_THE_HIGH_WATERMARK) == (ErrorCode.NONE, 3)

    assert offset_at(client, topic, EARLIEST) == offset_at(client, topic, LATEST) == 3
    assert append(client, topic, b"next") == 3


def test_what_is_deleted_stays_deleted(client: WireClient, topic: Topic) -> None:
    delete(client, topic, 2)

    assert delete(client, topic, 1) == (ErrorCode.NONE, 2)


@pytest.mark.parametrize("offset", [4, -2])
def test_an_offset_that_is_not_there_is_out_of_range(
    client: WireClient, topic: Topic, offset: int
) -> None:
    assert delete(client, topic, offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, NO_WATERMARK)
    assert offset_at(client, topic, EARLIEST) == 0


def test_what_is_not_here_is_unknown(client: WireClient, topic: Topic) -> None:
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_WATERMARK)

    assert delete(client, NO_TOPIC, 1) == unknown
    assert delete(client, topic, 1, partition=1) == unknown


@pytest.mark.parametrize(
    ("policy", "code"),
    [("compact", ErrorCode.POLICY_VIOLATION), ("compact,delete", ErrorCode.OFFSET_OUT_OF_RANGE)],
)
def test_a_topic_that_is_only_compacted_refuses(
    client: WireClient, make_topic: MakeTopic, policy: str, code: ErrorCode
) -> None:
    topic = make_topic(cleanup_policy=policy)

    assert delete(client, topic, 1) == (code, NO_WATERMARK)
