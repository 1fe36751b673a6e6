"""Many requests, large ones and long names: order and content survive."""

import socket
import threading

import pytest

from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest
from klamm.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from server.asking import (
    Topic,
    a_batch,
    a_fetch,
    a_produce,
    append,
    fetched,
    partition_of,
    records_in,
    values_in,
)
from server.conftest import Connect, MakeTopic, create_topic, delete_topic
from server.wire_client import WireClient

MEGABYTE = 1 << 20


def test_a_thousand_requests_in_one_go_are_answered_in_their_order(
    client: WireClient, topic: Topic
) -> None:
    for number in range(1000):
        client.send(a_produce(topic, a_batch(b"%d" % number), acks=1), 9 + number % 5)

    offsets = [partition_of(client.receive()).base_offset for _ in range(1000)]

    assert offsets == list(range(1000))
    assert fetched(client, topic) == [b"%d" % number for number in range(1000)]


def test_requests_that_wait_for_the_controller_keep_their_place(
    client: WireClient, new_name: str
) -> None:
    wanted = CreatableTopic(name=new_name, num_partitions=1, replication_factor=1)
    known = MetadataRequest(
        topics=[MetadataRequestTopic(name=new_name)], allow_auto_topic_creation=False
    )
    client.send(known)
    client.send(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000))
    client.send(known)
    client.send(InitProducerIdRequest(transactional_id=None))

    before, made, after, producer = (client.receive() for _ in range(4))

    assert (before.topics[0].error_code, made.topics[0].error_code) == (3, 0)
    assert (after.topics[0].error_code, producer.error_code) == (0, 0)
    delete_topic(client, Topic(new_name, made.topics[0].topic_id))


def test_writers_side_by_side_get_offsets_of_their_own_and_keep_their_order(
    connect: Connect, topic: Topic
) -> None:
    def write(writer: WireClient, name: int) -> None:
        for count in range(100):
            writer.send(a_produce(topic, a_batch(b"%d:%d" % (name, count))))
        for _ in range(100):
            assert partition_of(writer.receive()).error_code == 0

    threads = [threading.Thread(target=write, args=(connect(), name)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    stored = records_in(partition_of(connect().ask(a_fetch(topic))).records)
    assert [record.offset for record in stored] == list(range(800))
    for name in range(8):
        mine = [r.value for r in stored if r.value and r.value.startswith(b"%d:" % name)]
        assert mine == [b"%d:%d" % (name, count) for count in range(100)]


@pytest.fixture
def large(client: WireClient, make_topic: MakeTopic) -> Topic:
    """Twelve batches, each with a megabyte of its own number; two to a segment."""
    topic = make_topic(max_message_bytes=2 * MEGABYTE, segment_bytes=3 * MEGABYTE)
    for number in range(12):
        append(client, topic, bytes([number]) * MEGABYTE)
    return topic


def numbers_in(data: bytes | memoryview | None) -> list[int]:
    """Of each value its number, if it is whole and the same all through."""
    values = [value or b"" for value in values_in(data)]
    assert all(value == value[:1] * MEGABYTE for value in values)
    return [value[0] for value in values]


@pytest.mark.parametrize("version", [4, 11, 12, 18])
def test_large_answers_arrive_whole(client: WireClient, large: Topic, version: int) -> None:
    seen: list[int] = []
    while len(seen) < 12:
        request = a_fetch(large, len(seen), partition_max_bytes=1 << 30)
        answer = partition_of(client.ask(request, version))
        assert answer.high_watermark == 12
        seen += numbers_in(answer.records)

    assert seen == list(range(12))


def test_a_client_that_reads_slowly_holds_up_nobody(connect: Connect, large: Topic) -> None:
    slow, quick = connect(), connect()
    slow.send(a_fetch(large, partition_max_bytes=1 << 30))

    assert append(quick, large, b"meanwhile") == 12

    assert numbers_in(partition_of(slow.receive()).records)[0] == 0


def test_an_answer_under_way_survives_the_topic(connect: Connect, large: Topic) -> None:
    reader, admin = connect(), connect()
    reader.send(a_fetch(large, partition_max_bytes=1 << 30))
    assert reader.socket.recv(1, socket.MSG_PEEK)

    delete_topic(admin, large)

    assert numbers_in(partition_of(reader.receive()).records)[0] == 0


@pytest.mark.parametrize("length", [126, 127, 128, 200, 249])
def test_long_names_work_like_short_ones(client: WireClient, new_name: str, length: int) -> None:
    topic = create_topic(client, new_name.ljust(length, "x"))

    for version in (8, 9, 12, 13):
        assert partition_of(client.ask(a_produce(topic, a_batch()), version)).error_code == 0
    for version in (11, 12, 13):
        assert len(values_in(partition_of(client.ask(a_fetch(topic), version)).records)) == 4

    delete_topic(client, topic)
