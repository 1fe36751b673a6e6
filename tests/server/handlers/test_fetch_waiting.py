"""Fetches that wait: for bytes, until their time is over, or until the partition is gone."""

import time
from collections.abc import Callable

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.fetch import FetchPartition
from server.asking import (
    NO_TOPIC,
    Topic,
    a_batch,
    a_fetch,
    a_fetch_of,
    a_produce,
    append,
    fetched,
    partition_of,
    values_in,
)
from server.conftest import Connect, MakeTopic, delete_topic
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually

UntilParked = Callable[[], None]

# Longer than the client's patience: a test that gets an answer did not get it by the clock.
FOREVER_MS = 600_000
SHORT_MS = 50
VALUE = b"v" * 100
BATCH = len(a_batch(VALUE))


def test_an_append_wakes_who_waits_for_it(
    connect: Connect, topic: Topic, until_parked: UntilParked
) -> None:
    reader, writer = connect(), connect()
    reader.send(a_fetch(topic, min_bytes=1, max_wait_ms=FOREVER_MS))
    until_parked()

    append(writer, topic, b"news")

    assert values_in(partition_of(reader.receive()).records) == [b"news"]


def test_all_who_wait_for_a_partition_are_woken(
    connect: Connect, topic: Topic, until_parked: UntilParked
) -> None:
    readers = [connect() for _ in range(20)]
    for reader in readers:
        reader.send(a_fetch(topic, min_bytes=1, max_wait_ms=FOREVER_MS))

    append(connect(), topic, b"news")

    for reader in readers:
        assert values_in(partition_of(reader.receive()).records) == [b"news"]


def test_appends_wake_when_there_are_enough_bytes(
    connect: Connect, topic: Topic, until_parked: UntilParked
) -> None:
    reader, writer = connect(), connect()
    reader.send(a_fetch(topic, min_bytes=3 * BATCH, max_wait_ms=FOREVER_MS))
    until_parked()

    for _ in range(3):
        append(writer, topic, VALUE)

    assert values_in(partition_of(reader.receive()).records) == [VALUE] * 3


def test_bytes_of_all_partitions_count(
    connect: Connect, make_topic: MakeTopic, until_parked: UntilParked
) -> None:
    topic = make_topic(2)
    reader, writer = connect(), connect()
    asked = [FetchPartition(partition=index, partition_max_bytes=1000) for index in (0, 1)]
    reader.send(a_fetch_of([(topic, asked)], min_bytes=2 * BATCH, max_wait_ms=FOREVER_MS))
    until_parked()

    append(writer, topic, VALUE, partition=0)
    append(writer, topic, VALUE, partition=1)

    (answer,) = reader.receive().responses
    assert [values_in(p.records) for p in answer.partitions] == [[VALUE], [VALUE]]


def test_when_time_is_over_what_is_there_is_sent(client: WireClient, topic: Topic) -> None:
    append(client, topic, VALUE)
    began = time.monotonic()

    answer = client.ask(a_fetch(topic, min_bytes=1000, max_wait_ms=SHORT_MS))

    assert values_in(partition_of(answer).records) == [VALUE]
    # The broker counts in whole milliseconds.
    assert time.monotonic() - began >= (SHORT_MS - 1) / 1000


def test_waits_of_many_end_each_in_its_own_time(connect: Connect, topic: Topic) -> None:
    late, early = connect(), connect()
    late.send(a_fetch(topic, min_bytes=1, max_wait_ms=3 * SHORT_MS))
    early.send(a_fetch(topic, min_bytes=1, max_wait_ms=SHORT_MS))

    assert partition_of(early.receive()).error_code == 0
    assert partition_of(late.receive()).error_code == 0


@pytest.mark.parametrize("limits", [{"max_bytes": BATCH}, {"max_bytes": 1}])
def test_no_fetch_waits_for_more_than_it_may_get(
    client: WireClient, topic: Topic, limits: dict[str, int]
) -> None:
    append(client, topic, VALUE)

    answer = client.ask(a_fetch(topic, min_bytes=1 << 30, max_wait_ms=FOREVER_MS, **limits))

    assert values_in(partition_of(answer).records) == [VALUE]


@pytest.mark.parametrize("wait", [{"min_bytes": 0}, {"min_bytes": -5}, {"max_wait_ms": -1}])
def test_who_wants_nothing_or_has_no_time_is_answered_at_once(
    client: WireClient, topic: Topic, wait: dict[str, int]
) -> None:
    request = a_fetch(topic, **{"min_bytes": 1, "max_wait_ms": FOREVER_MS, **wait})

    assert partition_of(client.ask(request)).error_code == 0


def test_an_offset_out_of_range_is_told_at_once(client: WireClient, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    asked = [
        FetchPartition(partition=0, partition_max_bytes=1000),
        FetchPartition(partition=1, partition_max_bytes=1000, fetch_offset=9),
    ]

    request = a_fetch_of([(topic, asked)], min_bytes=1, max_wait_ms=FOREVER_MS)

    (answer,) = client.ask(request).responses
    assert [p.error_code for p in answer.partitions] == [0, ErrorCode.OFFSET_OUT_OF_RANGE]


def test_an_unknown_partition_does_not_keep_the_others_from_waiting(
    connect: Connect, topic: Topic, until_parked: UntilParked
) -> None:
    reader, writer = connect(), connect()
    asked = [FetchPartition(partition=0, partition_max_bytes=1000)]
    reader.send(
        a_fetch_of([(topic, asked), (NO_TOPIC, asked)], min_bytes=1, max_wait_ms=FOREVER_MS)
    )
    until_parked()

    append(writer, topic, b"news")

    told = {t.topic_id: t.partitions[0] for t in reader.receive().responses}
    assert values_in(told[topic.id].records) == [b"news"]
    assert told[NO_TOPIC.id].error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("version", [4, 12, 13, 18])
def test_who_waits_for_a_topic_that_is_deleted_is_told(
    connect: Connect, topic: Topic, until_parked: UntilParked, version: int
) -> None:
    reader, admin = connect(), connect()
    reader.send(a_fetch(topic, min_bytes=1, max_wait_ms=FOREVER_MS), version)
    until_parked()

    delete_topic(admin, topic)

    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
    assert partition_of(reader.receive()).error_code in unknown


def test_a_client_that_went_away_leaves_nothing_behind(
    connect: Connect, topic: Topic, until_parked: UntilParked, node: RunningNode
) -> None:
    reader, writer = connect(), connect()
    reader.send(a_fetch(topic, min_bytes=1, max_wait_ms=FOREVER_MS))
    until_parked()

    reader.close()
    append(writer, topic, b"nobody reads this")

    assert node.call(lambda: len(node.node.broker.fetches)) == 0
    assert fetched(writer, topic) == [b"nobody reads this"]


def test_what_a_client_sent_behind_a_waiting_fetch_is_done_after_it(
    connect: Connect, topic: Topic, until_parked: UntilParked
) -> None:
    reader, writer = connect(), connect()
    reader.send(a_fetch(topic, min_bytes=1, max_wait_ms=FOREVER_MS))
    reader.send(a_produce(topic, a_batch(b"second")))
    reader.send(a_fetch(topic))
    until_parked()

    append(writer, topic, b"first")

    assert values_in(partition_of(reader.receive()).records) == [b"first"]
    assert partition_of(reader.receive()).base_offset == 1
    assert values_in(partition_of(reader.receive()).records) == [b"first", b"second"]


def test_an_append_behind_a_waiting_fetch_wakes_the_others_once(
    connect: Connect, topic: Topic, node: RunningNode
) -> None:
    first, second, writer = connect(), connect(), connect()
    first.send(a_fetch(topic, min_bytes=1, max_wait_ms=FOREVER_MS))
    first.send(a_produce(topic, a_batch(b"held back")))
    second.send(a_fetch(topic, min_bytes=1, max_wait_ms=FOREVER_MS))
    eventually(lambda: assert_waiting(node, 2))

    append(writer, topic, b"first")

    # A second answer to the one fetch would be taken for the answer to the next request.
    assert values_in(partition_of(second.receive()).records)[0] == b"first"
    assert values_in(partition_of(first.receive()).records) == [b"first"]
    assert partition_of(first.receive()).base_offset == 1
    assert fetched(second, topic, 1) == [b"held back"]


def assert_waiting(node: RunningNode, count: int) -> None:
    assert node.call(lambda: len(node.node.broker.fetches)) == count
