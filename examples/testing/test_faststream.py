"""FastStream: the app as it runs in production, on a real broker and not on a patched one."""

import asyncio

import pytest

from klamm.testing import Broker

confluent = pytest.importorskip("faststream.confluent")


async def run_app(broker: Broker) -> None:
    stream = confluent.KafkaBroker(broker.bootstrap_servers)

    @stream.subscriber("orders", group_id="shipping", auto_offset_reset="earliest")
    @stream.publisher("shipped")
    async def ship(order: dict[str, int]) -> dict[str, int]:
        return {"shipped": order["id"]}

    async with stream:
        await stream.start()
        await broker.aio.expect("shipped").within(20).contains({"shipped": 1})


@pytest.mark.kafka(topics=["orders", "shipped"])
def test_an_order_is_shipped(kafka_broker: Broker) -> None:
    kafka_broker.produce("orders", [{"id": 1}])

    asyncio.run(run_app(kafka_broker))
