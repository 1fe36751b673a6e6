"""Fetch: what is read, up to where, and how many bytes of it. The expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from klamm.protocol.messages.fetch import FetchPartition, FetchRequest
from server.asking import (
    NO_TOPIC,
    Topic,
    a_batch,
    a_fetch,
    a_fetch_of,
    append,
    partition_of,
    records_in,
    values_in,
)
from server.conftest import MakeTopic
from server.wire_client import WireClient

VERSIONS = range(4, 19)
COMMITTED = 1
# Ten of these fit nowhere by accident: the value makes the size of a batch.
VALUE = b"v" * 100
BATCH = len(a_batch(VALUE))


@pytest.fixture
def filled(client: WireClient, make_topic: MakeTopic) -> Topic:
    """Three partitions with two batches each, of one record of VALUE."""
    topic = make_topic(3)
    for partition in range(3):
        append(client, topic, VALUE, partition=partition)
        append(client, topic, VALUE, partition=partition)
    return topic


def offsets_of(partition: Any) -> tuple[int, int, int]:
    return partition.high_watermark, partition.last_stable_offset, partition.log_start_offset


def sizes(response: Any) -> list[int]:
    return [len(p.records) for topic in response.responses for p in topic.partitions]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_reads_what_was_appended(
    client: WireClient, topic: Topic, version: int
) -> None:
    append(client, topic, b"one", b"two")
    append(client, topic, b"three")

    response = client.ask(a_fetch(topic), version)

    partition = partition_of(response)
    assert (response.error_code, response.session_id, partition.error_code) == (0, 0, 0)
    assert offsets_of(partition) == (3, 3, 0 if version >= 5 else -1)
    assert partition.aborted_transactions is None
    assert partition.preferred_read_replica == -1
    assert [(r.offset, r.value) for r in records_in(partition.records)] == [
        (0, b"one"),
        (1, b"two"),
        (2, b"three"),
    ]
    assert response.responses[0].topic == (topic.name if version < 13 else "")


def test_a_read_begins_with_the_batch_that_holds_the_offset(
    client: WireClient, topic: Topic
) -> None:
    append(client, topic, b"before")
    append(client, topic, b"one", b"two", b"three")

    partition = partition_of(client.ask(a_fetch(topic, 2)))

    assert values_in(partition.records) == [b"one", b"two", b"three"]


def test_the_end_of_the_log_is_empty_and_no_error(client: WireClient, topic: Topic) -> None:
    append(client, topic, b"one")

    partition = partition_of(client.ask(a_fetch(topic, 1)))

    assert (partition.error_code, bytes(partition.records)) == (0, b"")
    assert offsets_of(partition) == (1, 1, 0)


@pytest.mark.parametrize("offset", [-1, 2])
def test_an_offset_outside_the_log_is_out_of_range(
    client: WireClient, topic: Topic, offset: int
) -> None:
    append(client, topic, b"one")

    partition = partition_of(client.ask(a_fetch(topic, offset)))

    assert partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert offsets_of(partition) == (-1, -1, -1)


def test_deleted_records_are_out_of_range(client: WireClient, topic: Topic) -> None:
    append(client, topic, b"one", b"two", b"three")
    below = DeleteRecordsPartition(partition_index=0, offset=2)
    gone = DeleteRecordsTopic(name=topic.name, partitions=[below])
    client.ask(DeleteRecordsRequest(topics=[gone], timeout_ms=5_000))

    deleted = partition_of(client.ask(a_fetch(topic, 1)))
    # Not even a client that took another branch of history is told more.
    diverged = partition_of(client.ask(a_fetch(topic, 1, last_fetched_epoch=0)))
    kept = partition_of(client.ask(a_fetch(topic, 2)))

    assert deleted.error_code == diverged.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (kept.error_code, kept.log_start_offset) == (0, 2)


@pytest.mark.parametrize("version", VERSIONS)
def test_readers_of_committed_data_get_the_list_of_aborted_transactions(
    client: WireClient, topic: Topic, version: int
) -> None:
    append(client, topic, b"one")

    partition = partition_of(client.ask(a_fetch(topic, isolation_level=COMMITTED), version))

    assert values_in(partition.records) == [b"one"]
    assert partition.aborted_transactions == []


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_topic_is_told_by_name_and_by_id(client: WireClient, version: int) -> None:
    partition = partition_of(client.ask(a_fetch(NO_TOPIC), version))

    by_name, by_id = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID
    assert partition.error_code == (by_name if version < 13 else by_id)


@pytest.mark.parametrize("index", [1, -1])
def test_a_partition_that_the_topic_does_not_have_is_unknown(
    client: WireClient, topic: Topic, index: int
) -> None:
    partition = partition_of(client.ask(a_fetch(topic, partition=index)))

    assert (partition.partition_index, partition.error_code) == (
        index,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )


# -- leader epochs ------------------------------------------------------------------------------------------------------


def test_a_client_that_knows_a_later_leader_must_wait_for_us(
    client: WireClient, topic: Topic
) -> None:
    partition = partition_of(client.ask(a_fetch(topic, leader_epoch=5)))

    assert partition.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_the_epoch_of_now_is_served(client: WireClient, topic: Topic) -> None:
    assert partition_of(client.ask(a_fetch(topic, leader_epoch=0))).error_code == 0


def test_a_client_ahead_of_our_log_is_told_where_its_epoch_ends_here(
    client: WireClient, topic: Topic
) -> None:
    append(client, topic, b"one", b"two")

    partition = partition_of(client.ask(a_fetch(topic, 9, last_fetched_epoch=0)))

    diverging = partition.diverging_epoch
    assert (partition.error_code, bytes(partition.records)) == (0, b"")
    assert (diverging.epoch, diverging.end_offset) == (0, 2)
    assert offsets_of(partition) == (2, 2, 0)


def test_a_client_whose_log_agrees_just_reads(client: WireClient, topic: Topic) -> None:
    append(client, topic, b"one", b"two")

    partition = partition_of(client.ask(a_fetch(topic, 2, last_fetched_epoch=0)))

    assert (partition.error_code, partition.diverging_epoch.epoch) == (0, -1)


def test_an_epoch_that_never_was_is_out_of_range(client: WireClient, topic: Topic) -> None:
    append(client, topic, b"one")

    partition = partition_of(client.ask(a_fetch(topic, 0, last_fetched_epoch=5)))

    assert partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


# -- how many bytes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1, BATCH - 1, BATCH])
def test_the_first_batch_comes_whole_however_small_the_limit(
    client: WireClient, filled: Topic, limit: int
) -> None:
    by_partition = client.ask(a_fetch(filled, partition_max_bytes=limit))
    by_request = client.ask(a_fetch(filled, max_bytes=limit))

    assert sizes(by_partition) == sizes(by_request) == [BATCH]


@pytest.mark.parametrize("limit", [BATCH + 1, 2 * BATCH - 1, 2 * BATCH])
def test_what_follows_the_first_batch_is_cut_at_the_limit(
    client: WireClient, filled: Topic, limit: int
) -> None:
    by_partition = client.ask(a_fetch(filled, partition_max_bytes=limit))
    by_request = client.ask(a_fetch(filled, max_bytes=limit))

    assert sizes(by_partition) == sizes(by_request) == [limit]


LARGE = len(a_batch(b"v" * 20_000))


@pytest.fixture
def large(client: WireClient, topic: Topic) -> Topic:
    """Five batches of 20 kB each."""
    for _ in range(5):
        append(client, topic, b"v" * 20_000)
    return topic


@pytest.mark.usefixtures("node")  # Kafka sends as much of it as fits.
@pytest.mark.parametrize("version", [11, 17])
def test_a_large_batch_that_does_not_fit_is_left_out(
    client: WireClient, large: Topic, version: int
) -> None:
    answer = client.ask(a_fetch(large, partition_max_bytes=50_000), version)

    assert sizes(answer) == [2 * LARGE]


@pytest.mark.usefixtures("node")  # Kafka sends as much of it as fits.
@pytest.mark.parametrize("version", [11, 17])
def test_what_is_left_out_counts_when_a_reader_waits_for_bytes(
    client: WireClient, large: Topic, version: int
) -> None:
    request = a_fetch(large, partition_max_bytes=50_000, min_bytes=50_000, max_wait_ms=600_000)

    assert sizes(client.ask(request, version)) == [2 * LARGE]


def everything(topic: Topic, partition_max_bytes: int = 1 << 20, **request: Any) -> FetchRequest:
    asked = [
        FetchPartition(partition=index, partition_max_bytes=partition_max_bytes)
        for index in range(3)
    ]
    return a_fetch_of([(topic, asked)], **request)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (10, [BATCH, 0, 0]),
        (BATCH + 5, [BATCH + 5, 0, 0]),
        # Five bytes are left for the second partition: not even its first batch fits.
        (2 * BATCH + 5, [2 * BATCH, 0, 0]),
        (3 * BATCH, [2 * BATCH, BATCH, 0]),
        (5 * BATCH + 1, [2 * BATCH, 2 * BATCH, BATCH + 1]),
    ],
)
def test_partitions_share_the_limit_of_the_request_in_their_order(
    client: WireClient, filled: Topic, limit: int, expected: list[int]
) -> None:
    assert sizes(client.ask(everything(filled, max_bytes=limit))) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(0, [BATCH, 0, 0]), (BATCH - 1, [BATCH, 0, 0]), (BATCH, [BATCH, BATCH, BATCH])],
)
def test_only_the_first_partition_with_data_may_exceed_its_own_limit(
    client: WireClient, filled: Topic, limit: int, expected: list[int]
) -> None:
    assert sizes(client.ask(everything(filled, partition_max_bytes=limit))) == expected


def test_a_request_without_partitions_is_answered_at_once(client: WireClient) -> None:
    response = client.ask(FetchRequest(session_epoch=-1, min_bytes=1, max_wait_ms=600_000))

    assert (response.error_code, response.responses) == (0, [])
