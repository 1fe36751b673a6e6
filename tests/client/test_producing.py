"""Producer against running brokers: what was acknowledged is there, once and in order."""

import asyncio
from random import Random

import pytest

from client.conftest import MakeTopic
from client.networks import FlakyNetwork
from client.reading import read_all, values_of
from klamm.base.errors import ApiError, ErrorCode
from klamm.client import Environment, Producer, ProducerSettings
from klamm.client.backoff import Backoff
from klamm.client.producer.partitioner import Question, RoundRobinPartitioner, partition_for_key
from klamm.client.serializers import as_json, text
from klamm.protocol.records.batch import Codec

QUICK = Backoff(initial_ms=5, max_ms=20)


async def test_record_arrives_with_all_its_parts(address: str, make_topic: MakeTopic) -> None:
    topic = await make_topic()

    async with Producer(address) as producer:
        sent = await producer.send_and_wait(
            topic, b"value", key=b"key", timestamp=1234, headers=[("h", b"1"), ("h", None)]
        )

    (row,) = await read_all(address, topic)
    assert (sent.topic, sent.partition, sent.offset, sent.timestamp) == (topic, 0, 0, 1234)
    assert (row.key, row.value, row.timestamp) == (b"key", b"value", 1234)
    assert list(row.headers) == [("h", b"1"), ("h", None)]


@pytest.mark.parametrize("codec", list(Codec))
async def test_every_codec_can_be_read_again(
    address: str, make_topic: MakeTopic, codec: Codec
) -> None:
    topic = await make_topic()
    values = [b"%04d" % number * 50 for number in range(100)]

    async with Producer(address, ProducerSettings(compression=codec)) as producer:
        for value in values:
            await producer.send(topic, value)

    assert await values_of(address, topic) == values


@pytest.mark.parametrize("acks", [0, 1, -1])
async def test_all_acks_deliver_in_order(address: str, make_topic: MakeTopic, acks: int) -> None:
    topic = await make_topic()
    values = [b"%d" % number for number in range(500)]

    async with Producer(address, ProducerSettings(acks=acks, batch_bytes=500)) as producer:
        for value in values:
            await producer.send(topic, value)

    assert await values_of(address, topic) == values


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_broken_connections_lose_double_and_reorder_nothing(
    address: str, make_topic: MakeTopic, seed: int
) -> None:
    topic = await make_topic(partitions=2)
    network = FlakyNetwork(Random(seed), 0.2)
    environment = Environment(rng=Random(seed), open=network.open)
    settings = ProducerSettings(batch_bytes=300, linger_ms=0, retry_backoff=QUICK)

    async with Producer(address, settings, environment=environment) as producer:
        deliveries = []
        for number in range(600):
            deliveries.append(await producer.send(topic, b"%d" % number, partition=number % 2))
            if number % 20 == 0:
                await asyncio.sleep(0)
        await asyncio.gather(*deliveries)

    rows = await read_all(address, topic)
    assert network.breaks > 0
    for partition in (0, 1):
        got = [int(row.value or b"") for row in rows if row.partition == partition]
        assert got == list(range(partition, 600, 2))


async def test_batch_that_is_too_large_for_the_topic_is_split(
    address: str, make_topic: MakeTopic
) -> None:
    topic = await make_topic(max_message_bytes=2000)
    values = [b"%03d" % number * 100 for number in range(40)]

    async with Producer(address, ProducerSettings(batch_bytes=100_000)) as producer:
        deliveries = [await producer.send(topic, value) for value in values]
        delivered = await asyncio.gather(*deliveries)

    assert [d.offset for d in delivered] == list(range(40))
    assert await values_of(address, topic) == values


async def test_record_that_the_topic_refuses_fails_alone(
    address: str, make_topic: MakeTopic
) -> None:
    topic = await make_topic(max_message_bytes=2000)

    async with Producer(address) as producer:
        too_large = await producer.send(topic, b"x" * 3000)
        with pytest.raises(ApiError) as caught:
            await too_large
        after = await producer.send_and_wait(topic, b"fits")

    assert caught.value.code == ErrorCode.MESSAGE_TOO_LARGE
    assert after.offset == 0
    assert await values_of(address, topic) == [b"fits"]


async def test_unknown_partition_is_refused_at_once(address: str, make_topic: MakeTopic) -> None:
    topic = await make_topic(partitions=2)

    async with Producer(address) as producer:
        with pytest.raises(ApiError) as caught:
            await producer.send(topic, b"", partition=2)

    assert caught.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_keys_go_to_javas_partitions_and_functions_are_asked(
    address: str, make_topic: MakeTopic
) -> None:
    topic = await make_topic(partitions=5)

    def last(question: Question) -> int:
        return question.partition_count - 1

    async with Producer(address) as producer:
        by_key = [(await producer.send_and_wait(topic, b"", key=b"%d" % n)) for n in range(20)]
    async with Producer(address, partitioner=last) as producer:
        by_function = await producer.send_and_wait(topic, b"", key=b"any")
    async with Producer(address, partitioner=RoundRobinPartitioner()) as producer:
        in_turn = [(await producer.send_and_wait(topic, b"")).partition for _ in range(6)]

    assert [d.partition for d in by_key] == [partition_for_key(b"%d" % n, 5) for n in range(20)]
    assert by_function.partition == 4
    assert in_turn == [0, 1, 2, 3, 4, 0]


async def test_serializers_are_typed_functions(address: str, make_topic: MakeTopic) -> None:
    topic = await make_topic()

    async with Producer(address, key_serializer=text, value_serializer=as_json) as producer:
        await producer.send_and_wait(topic, {"a": [1, None]}, key="schlüssel")
        await producer.send_and_wait(topic, None, key="gone")

    rows = await read_all(address, topic)
    assert [(row.key, row.value) for row in rows] == [
        ("schlüssel".encode(), b'{"a":[1,null]}'),
        (b"gone", None),
    ]


async def test_send_waits_for_room_in_the_buffer(address: str, make_topic: MakeTopic) -> None:
    topic = await make_topic()
    settings = ProducerSettings(buffer_bytes=2000, max_request_bytes=1500, batch_bytes=500)

    async with Producer(address, settings) as producer:
        for number in range(100):
            await producer.send(topic, b"%3d" % number * 100)
        await producer.flush()

    assert len(await values_of(address, topic)) == 100


async def test_topic_that_does_not_exist_fails_within_the_time_given(klamm_address: str) -> None:
    settings = ProducerSettings(max_block_ms=300)

    async with Producer(klamm_address, settings) as producer:
        with pytest.raises(ApiError):
            await producer.send("no such topic!", b"")
