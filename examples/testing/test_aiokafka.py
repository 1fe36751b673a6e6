"""aiokafka: coroutines, with a broker that is started for them."""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from klamm.testing import Broker


async def scenario() -> None:
    async with Broker(topics={"orders": 1}) as broker:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            await producer.send_and_wait("orders", b"one", key=b"k")
        await broker.aio.expect("orders").within(5).equals(("k", "one"))

        async with AIOKafkaConsumer(
            "orders", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer:
            assert (await consumer.getone()).value == b"one"


def test_a_record_goes_there_and_back() -> None:
    asyncio.run(scenario())
